"""MCP servers as worlds for gymposium: questions to answer with a server's tools."""
