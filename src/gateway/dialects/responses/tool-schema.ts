import { z } from 'zod';
import { byType, listOf } from '../../../core/body-schema.ts';
import { toolChoiceWords } from '../../../core/request.ts';
import { webSearchName } from '../../../core/web-search.ts';
import { sites, userLocation } from '../search-fields.ts';
import { functionFields, maxTools, toolName } from '../wire-fields.ts';

const functionTool = z.object({ type: z.literal('function'), ...functionFields });

const customTool = z.object({
  type: z.literal('custom'),
  name: toolName,
  description: z.string().nullish(),
  format: z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('text') }),
      z.object({ type: z.literal('grammar'), syntax: z.enum(['lark', 'regex']), definition: z.string() }),
    ])
    .nullish(),
});

const searchTool = z
  .object({
    external_web_access: z.boolean().nullish(),
    filters: z.object({ allowed_domains: sites.nullish(), blocked_domains: sites.nullish() }).nullish(),
    user_location: userLocation.nullish(),
  })
  .transform((fields) => ({ type: 'web_search' as const, ...fields }));

/** The names of the web search that the service runs. */
const searchTypes = [
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
] as const;

/** One schema under each of these names. */
const underSearchTypes = <Schema extends z.ZodType>(schema: Schema) =>
  // oxlint-disable-next-line typescript/consistent-type-assertions -- Object.fromEntries forgets the keys
  Object.fromEntries(searchTypes.map((type) => [type, schema])) as Readonly<
    Record<(typeof searchTypes)[number], Schema>
  >;

const notRun = (type: string): string => `${type} is a tool that the service would run, and it is not offered here`;
const notKnown = (type: string): string => `${type} is a tool that models here do not know: send it as a function`;
const hostedTypes = ['file_search', 'code_interpreter', 'image_generation', 'mcp', 'programmatic_tool_calling'];
const clientTypes = ['computer', 'computer_use', 'computer_use_preview', 'local_shell', 'shell', 'apply_patch'];
const refusedTools: Readonly<Record<string, string>> = {
  ...Object.fromEntries(hostedTypes.map((type) => [type, notRun(type)])),
  ...Object.fromEntries(clientTypes.map((type) => [type, notKnown(type)])),
  tool_search: 'tool_search is not offered here: send all tools, without defer_loading',
};

const namespace = z.object({
  type: z.literal('namespace'),
  name: toolName,
  tools: listOf(byType({ function: functionTool, custom: customTool }), { max: maxTools }),
});

export const tool = byType(
  { function: functionTool, custom: customTool, namespace, ...underSearchTypes(searchTool) },
  { refused: refusedTools },
);

const named = <Type extends 'function' | 'custom' | 'namespace'>(type: Type) =>
  z.object({ type: z.literal(type), name: z.string().min(1) });
const searchChoice = z.unknown().transform(() => ({ type: 'web_search' as const, name: webSearchName }));
const choices = { function: named('function'), custom: named('custom'), ...underSearchTypes(searchChoice) };
const allowed = { ...choices, namespace: named('namespace') };

export const toolChoice = z.union([
  z.enum(toolChoiceWords),
  byType(
    {
      ...choices,
      allowed_tools: z.object({
        type: z.literal('allowed_tools'),
        mode: z.enum(['auto', 'required']),
        tools: listOf(byType(allowed, { refused: refusedTools }), { min: 1, max: maxTools }),
      }),
    },
    { refused: refusedTools },
  ),
]);

export type ResponsesTool = z.output<typeof tool>;
/** A tool in a namespace has the name that the model is shown. */
export type SingleTool = Exclude<ResponsesTool, { readonly type: 'namespace' }>;
export type WireSearch = Extract<ResponsesTool, { readonly type: 'web_search' }>;
export type WireCustom = Extract<ResponsesTool, { readonly type: 'custom' }>;
