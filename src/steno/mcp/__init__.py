"""Standing between an MCP client and a server: policy is asked before a call, and every decision is told."""
