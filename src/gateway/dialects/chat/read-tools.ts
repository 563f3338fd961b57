import { Failure } from '../../../core/failure.ts';
import type { CallFormat, Tool, ToolChoice } from '../../../core/request.ts';
import { customTool } from '../custom-tools.ts';
import { checkChoice, readFunction } from '../wire-fields.ts';
import type { ChatBody } from './schema.ts';

type WireTool = NonNullable<ChatBody['tools']>[number];
type NamedTool = { readonly type: 'function'; readonly function: { readonly name: string } } | NamedCustomTool;
type NamedCustomTool = { readonly type: 'custom'; readonly custom: { readonly name: string } };

const nameOf = (tool: NamedTool): string => (tool.type === 'function' ? tool.function.name : tool.custom.name);

function readTool(tool: WireTool): Tool {
  if (tool.type === 'function') return readFunction(tool.function);
  const { name, description } = tool.custom;
  return customTool({ name, description: description ?? null });
}

/** The tools of a request, in either of the format's versions. */
interface ReadTools {
  readonly tools: readonly Tool[];
  readonly toolChoice?: ToolChoice | undefined;
  readonly callFormat?: CallFormat | undefined;
}

function readChoice(choice: NonNullable<ChatBody['tool_choice']>, tools: readonly Tool[]): ToolChoice | undefined {
  if (typeof choice === 'string') return checkChoice(choice, tools);
  if (choice.type === 'allowed_tools') return choice.allowed_tools.mode;
  return checkChoice({ name: nameOf(choice) }, tools, { field: `tool_choice.${choice.type}.name` });
}

/** The tools that may be called. Throws `invalid_request` for a name that no tool has. */
function allowedOf(tools: readonly Tool[], choice: ChatBody['tool_choice']): readonly Tool[] {
  if (typeof choice !== 'object' || choice?.type !== 'allowed_tools') return tools;
  const allowed = choice.allowed_tools.tools.map(nameOf);
  const unknown = allowed.findIndex((name) => !tools.some((tool) => tool.name === name));
  if (unknown !== -1) {
    const field = `tool_choice.allowed_tools.tools[${unknown}]`;
    throw new Failure('invalid_request', `${field}: expected the name of one of the tools`);
  }
  return tools.filter(({ name }) => allowed.includes(name));
}

/** The first version of tools: `functions`, and `function_call` to choose among them. */
function readFunctions({ functions, function_call: choice }: ChatBody): ReadTools {
  const tools = (functions ?? []).map(readFunction);
  if (tools.length === 0) return { tools };
  const callFormat: CallFormat = { customTools: [], functionCall: true };
  if (typeof choice === 'object' && choice !== null && !tools.some(({ name }) => name === choice.name)) {
    throw new Failure('invalid_request', 'function_call.name: expected the name of one of the functions');
  }
  return { tools, callFormat, toolChoice: choice ?? undefined };
}

/** Reads the tools of a body. Throws `invalid_request` with the path of the first invalid field. */
export function readTools(body: ChatBody): ReadTools {
  const wire = body.tools ?? [];
  if (wire.length === 0 && (body.functions?.length ?? 0) > 0) return readFunctions(body);
  const choice = body.tool_choice;
  const tools = allowedOf(wire.map(readTool), choice);
  const customTools = wire.flatMap((tool) => (tool.type === 'custom' ? [tool.custom.name] : []));
  return {
    tools,
    toolChoice: choice === undefined || choice === null ? undefined : readChoice(choice, tools),
    callFormat: customTools.length === 0 ? undefined : { customTools, functionCall: false },
  };
}
