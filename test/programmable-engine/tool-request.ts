import { isJsonObject, type JsonObject, objectOr } from './json-value.ts';
import { RequestRefusal } from './request-refusal.ts';

/** A function that the model may call. */
export interface Tool {
  readonly name: string;
  readonly parameters: unknown;
}

export type ToolChoice =
  | { readonly kind: 'none' | 'auto' | 'required' }
  | { readonly kind: 'named'; readonly name: string };

/** Reads `tools`; a server tool without a function is skipped. Throws a RequestRefusal. */
export function readTools(value: unknown, strict: boolean): readonly Tool[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new RequestRefusal('tools must be a list', { param: 'tools' });
  if (strict && value.length === 0) {
    throw new RequestRefusal('tools must not be an empty array. Either omit it or give one tool.', { param: 'tools' });
  }
  return value.filter((tool: unknown) => isJsonObject(tool) && isJsonObject(tool['function'])).map(readTool);
}

function readTool(tool: JsonObject, index: number): Tool {
  const definition = objectOr(tool['function']);
  const name = definition['name'];
  if (typeof name !== 'string' || name === '') {
    throw new RequestRefusal(`tools[${index}].function.name must be a string`, { param: 'tools' });
  }
  return { name, parameters: definition['parameters'] };
}

/** Reads `tool_choice`; `auto` unless told. Throws a RequestRefusal when it names a tool that is not there. */
export function readToolChoice(
  value: unknown,
  given: { readonly tools: readonly Tool[]; readonly strict: boolean },
): ToolChoice {
  if (value === undefined || value === null) return { kind: 'auto' };
  if (value === 'none' || value === 'auto' || value === 'required') {
    if (given.strict && value === 'required' && given.tools.length === 0) {
      throw new RequestRefusal('When using `tool_choice`, `tools` must be set.', { param: 'tool_choice' });
    }
    return { kind: value };
  }
  const name = objectOr(objectOr(value)['function'])['name'];
  if (typeof name !== 'string') throw new RequestRefusal('tool_choice is not understood', { param: 'tool_choice' });
  if (given.tools.some((tool) => tool.name === name)) return { kind: 'named', name };
  throw new RequestRefusal('The tool specified in `tool_choice` does not match any of the specified `tools`', {
    param: 'tool_choice',
  });
}
