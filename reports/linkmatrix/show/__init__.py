"""The outputs of a result: terminal, HTML page, pictures, and files for other tools."""
