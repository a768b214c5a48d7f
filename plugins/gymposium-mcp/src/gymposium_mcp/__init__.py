"""MCP servers as worlds for gymposium: questions that are answered with a server's tools."""
