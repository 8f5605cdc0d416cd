import type { MCPToolMetaContext, Runner } from '@openai/agents';

/** The key in `_meta` of an MCP request that carries the id of the tool call. */
export declare const META_KEY: 'steno/toolCallId';

/**
 * Writes what a runner says into the log of the recorded run: tool calls that start and end, and how each of its
 * runs ends. Outside of a recorded run it does nothing. Returns the same runner.
 */
export declare function recordRun<T extends Runner>(runner: T): T;

/**
 * For `new MCPServerStdio({ …, toolMetaResolver })` and its siblings: the request carries the id of the tool call.
 * Needs a runner that was given to `recordRun`.
 */
export declare function toolMetaResolver(context: MCPToolMetaContext<any>): Record<string, unknown> | null;

/** For the `env` of an MCP server: the framework passes nothing on that a proxy needs to find the run. */
export declare function runEnvironment(): Record<string, string>;
