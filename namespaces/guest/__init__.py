"""Guest: a Linux kernel run as an ordinary process, in which a whole netlab command runs again."""
