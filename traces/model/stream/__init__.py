"""Stream: a TCP connection over two modelled links, as Linux has it, when few bytes are sent."""
