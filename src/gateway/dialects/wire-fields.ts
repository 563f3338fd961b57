import { z } from 'zod';
import { jsonSchema } from '../../core/body-schema.ts';
import { Failure } from '../../core/failure.ts';
import type { ResponseFormat, Tool, ToolChoice } from '../../core/request.ts';
import { webSearchName } from '../../core/web-search.ts';
import { present } from './read-body.ts';

/** Fields that several formats have, and what holds for them in each. Null means absent. */
export const count = z.int().min(1).max(1_000_000_000);

/** An address that engines accept. `missing`: what is said of a value that is no text. */
export const imageUrl = (missing?: string) =>
  z.string(missing).regex(/^(?:https?:\/\/|data:image\/)/i, 'expected an http(s) URL or a data:image URL');

/** Maximum number of tools of a request. */
export const maxTools = 1024;

export const toolName = z.string().regex(/^[\w.:-]{1,128}$/, 'expected 1 to 128 letters, digits, or any of _ - . :');

export const functionFields = {
  name: toolName,
  description: z.string().nullish(),
  parameters: jsonSchema.nullish(),
  strict: z.boolean().nullish(),
};

type FunctionFields = z.infer<z.ZodObject<typeof functionFields>>;

export const readFunction = ({ name, description, parameters, strict }: FunctionFields): Tool => ({
  name,
  ...present({ description, parameters, strict }),
});

/** A schema for the answer. */
export const formatFields = {
  name: z.string().min(1).max(64),
  description: z.string().nullish(),
  schema: jsonSchema.nullish(),
  strict: z.boolean().nullish(),
};

type FormatFields = z.infer<z.ZodObject<typeof formatFields>>;

export const readFormat = ({ name, description, schema, strict }: FormatFields): ResponseFormat => ({
  type: 'json_schema',
  name,
  ...present({ description, schema, strict }),
});

/**
 * The choice among the tools. Throws `invalid_request` if it demands a tool that is not there. `required`: the format's word for any
 * tool. `field`: where a tool is named.
 */
export function checkChoice(
  choice: ToolChoice,
  tools: readonly Tool[],
  { required = 'required', field = 'tool_choice.name' } = {},
): ToolChoice | undefined {
  if (typeof choice === 'object') {
    if (tools.some(({ name }) => name === choice.name)) return choice;
    throw new Failure('invalid_request', `${field}: expected the name of one of the tools`);
  }
  if (tools.length > 0) return choice;
  if (choice !== 'required') return undefined;
  throw new Failure('invalid_request', `tool_choice: "${required}" needs at least one entry in tools`);
}

/** A call names its tool only, so no two searches, and no search and tool, may have the same name. `taken`: the field of such a tool. */
export function checkSearchName(searches: number, taken: string | undefined): void {
  if (searches === 0) return;
  if (taken !== undefined) {
    throw new Failure(
      'web_search_name_reserved',
      `${taken}: ${webSearchName} is the name of the web search that is among the tools`,
    );
  }
  if (searches > 1) throw new Failure('invalid_request', 'tools: expected the web search once');
}
