import { isObject, parseJson } from '../../core/json.ts';
import type { Tool } from '../../core/request.ts';
import { readJsonBeginning } from '../core/json-prefix.ts';
import { present } from './read-body.ts';

/** Custom tools, which take free text. No engine has such tools: the text becomes the one argument of a function. */
const inputName = 'input';

export function customTool({
  name,
  description,
}: {
  readonly name: string;
  readonly description?: string | null;
}): Tool {
  const properties = { [inputName]: { type: 'string', description: 'The text that the tool takes.' } };
  return {
    name,
    ...present({ description }),
    parameters: { type: 'object', properties, required: [inputName], additionalProperties: false },
  };
}

/** The arguments of the function that replaces a custom tool for the engine. */
export const customArguments = (input: string): string => JSON.stringify({ [inputName]: input });

/** Returns the input of a custom tool: the one argument of the function that replaced it. */
export function customInputOf(text: string): string {
  const value = parseJson(wholeArguments(text));
  const input = isObject(value) ? value[inputName] : undefined;
  return typeof input === 'string' ? input : text;
}

/**
 * The arguments of an earlier call as the text of a JSON object, because engines and chat templates fail on any other text. An object
 * stays byte for byte as it came. Arguments that the output cap has cut off are ended. Any other text becomes one argument.
 */
export function wholeArguments(text: string): string {
  if (/^\s*(?:null\s*)?$/.test(text)) return '{}';
  if (isObject(parseJson(text))) return text;
  const ended = readJsonBeginning(text)?.ended;
  return ended !== undefined && isObject(parseJson(ended)) ? ended : customArguments(text);
}
