import { z } from 'zod';
import { capabilities } from '../src/control/catalog/resources/capabilities.ts';
import type { ReasoningSetting } from '../src/core/capability.ts';
import { chatEngineNames } from '../src/core/engine-name.ts';
import { type ParameterName, parameterNames, parameters } from '../src/core/parameters.ts';
import { inertNames } from '../src/gateway/dialects/chat/read-request.ts';
import { engines } from '../src/gateway/engines/engines.ts';
import { markdownTable } from './markdown-table.ts';

const all = chatEngineNames.map((name) => ({ name, ...engines[name] }));
const code = (text: string): string => `\`${text}\``;
const json = (value: unknown): string => code(JSON.stringify(value));
const yes = (is: boolean): string => (is ? 'yes' : '–');
const listed = (names: readonly string[]): string => (names.length === 0 ? '–' : names.map(code).join(', '));

interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly JsonSchema[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
}

/** What a schema takes, in words. Null is the same as absence everywhere and not worth a word. */
function accepted(schema: JsonSchema): string {
  const { anyOf, type, minimum, exclusiveMinimum, maximum, maxItems } = schema;
  if (anyOf !== undefined) {
    return anyOf
      .filter((one) => one.type !== 'null')
      .map(accepted)
      .join(', or ');
  }
  const name = [type].flat().find((one) => one !== 'null') ?? 'anything';
  if (name === 'array') return `a list of at most ${maxItems ?? 'any number'}`;
  const from = exclusiveMinimum === undefined ? minimum : `above ${exclusiveMinimum}`;
  // The ends of what a number holds exactly are no limit of ours.
  const isOpen = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER;
  if (from === undefined || from === Number.MIN_SAFE_INTEGER) return name;
  return isOpen ? `${name}, from ${from}` : `${name}, ${from} to ${maximum}`;
}

function parameterTable(): string {
  return markdownTable(
    ['parameter', 'accepts', 'default', 'needs', 'without it', 'on messages', ...chatEngineNames],
    parameterNames.map((name) => {
      const { schema, default: usual, needs, withoutIt, messages, engines: takenBy } = parameters[name];
      const facts = [usual === undefined ? '–' : json(usual), needed[needs], withoutIt, onMessages(messages)];
      const cells = chatEngineNames.map((engine) => sentAs(takenBy[engine]));
      return [code(name), accepted(z.toJSONSchema(schema, inputs) as JsonSchema), ...facts, ...cells];
    }),
  );
}

const needed = { nothing: '–', logprobs: code('logprobs: true'), tools: code('tools') } as const;

function onMessages(messages: (typeof parameters)[ParameterName]['messages']): string {
  switch (messages.kind) {
    case 'none':
      return '–';
    case 'field':
      return code(messages.name);
    case 'part':
      return code(messages.path);
  }
}

const inputs = { io: 'input', unrepresentable: 'any' } as const;

const sentAs = (taken: boolean | { readonly as: string }): string =>
  typeof taken === 'object' ? code(taken.as) : yes(taken);

const featureTable = (): string =>
  markdownTable(
    [
      ...['engine', 'tools', '`tool_choice`', '`response_format`', 'refused together', 'system messages'],
      ...['output cap', 'replayed reasoning'],
    ],
    all.map(({ name, capabilities: can, capField, reasoningField }) => [
      name,
      byTransport(yes(can.tools.json), yes(can.tools.stream)),
      listed(can.toolChoice),
      byTransport(listed(can.responseFormats.json), listed(can.responseFormats.stream)),
      can.conflicts.map((conflict) => conflict.map(code).join(' + ')).join('; ') || '–',
      can.systemMessages === 'Leading' ? 'leading ones' : 'anywhere',
      code(capField),
      reasoningField === 'none' ? 'left out' : code(reasoningField),
    ]),
  );

const byTransport = (whole: string, stream: string): string =>
  whole === stream ? whole : `${whole}; streamed: ${stream}`;

function reasoningTable(): string {
  const rows = all.map(({ name, capabilities: { reasoning }, writeReasoning }) => {
    const { off, efforts, budget } = reasoning;
    const deepest = efforts.at(-1);
    const on: ReasoningSetting = { enabled: true, ...(deepest === undefined ? {} : { effort: deepest }) };
    return [
      name,
      off ? json(writeReasoning({ enabled: false })) : 'cannot',
      listed(efforts),
      json(writeReasoning(on)),
      budget ? json(writeReasoning({ enabled: true, budgetTokens: 4096 })) : '–',
    ];
  });
  return markdownTable(['engine', 'off', 'levels', 'on, at the deepest', 'a budget of 4096 tokens'], rows);
}

const overrideTable = (): string =>
  markdownTable(
    ['field', 'meaning', 'example'],
    Object.entries(capabilities.shape).map(([name, schema]) => {
      const { description = '', example } = schema.meta() ?? {};
      return [code(name), description, example === undefined ? '' : json(example)];
    }),
  );

const overrideExample = `\`\`\`yaml
routes:
- backend: vllm-a
  upstreamModel: Qwen/Qwen3-8B
  capabilities:
    parameters: [temperature, top_p, stop, seed]   # replaces the engine's whole list
    responseFormats: [json_object, json_schema]
    streamedResponseFormats: [json_object]
    reasoning: {efforts: [low, high], budget: false} # other fields keep the engine's values
\`\`\``;

/** The page about parameters and their support by each engine: docs/reference/parameters.md. */
export const parametersPage =
  (): string => `<!-- Generated by \`npm run generate\` from src/core/parameters.ts, src/gateway/dialects and src/gateway/engines. Change the sources instead. -->
# Parameters

Fields of \`POST /v1/chat/completions\`, and the fields that each engine receives. A value that is out of range
or of the wrong type is a 400 \`invalid_request_error\`. Its message begins with the field's path, and the value never
reaches an engine. Everywhere, \`null\` means the same as a missing field.

## Sampling

Weir picks a route for the exact request. Routes that support more of its parameters come first. The column
*without it* shows what happens on a route without a parameter:

- **refused**: the caller would notice the difference, so Weir never calls such a route. If no route of the model
  supports the parameter, the answer is 400 \`param_not_supported\`.
- **left out**: Weir serves the request without the parameter.

The *default* is the value that means the engines' usual behaviour. Weir does not send it, and every route can serve it.
A parameter that *needs* \`logprobs: true\` is a 400 without it; one that needs \`tools\` is not sent without them.
The column *on messages* shows the name on \`POST /v1/messages\`. [The messages surface](messages.md#requests) lists its
values.

${parameterTable()}

\`max_completion_tokens\` and \`max_tokens\` are the same cap, on reasoning and answer together. If a body contains both, the
first wins. The engine gets the cap in its own field (below).

## Tools, structured output and history

${featureTable()}

| case | result |
|---|---|
| no route can call tools, or force a call as \`tool_choice\` demands | 400 \`tools_not_supported\`. With \`tool_choice: "none"\` every route will do |
| no route supports the \`response_format\`, streamed or not as requested | 400 \`response_format_not_supported\` |
| each part is supported somewhere, but no route supports all of them | 400 \`param_combination_not_supported\`. *Reasoning* counts unless it is off |

- \`developer\` messages become \`system\` messages. Lists of text parts become strings.
- \`image_url\` parts go only to models that take images, and only [from allowed
  hosts](../concepts/privacy.md#image-urls) if the operator lists them.
- If an engine accepts system messages only at the beginning, Weir joins the leading ones. Each later one becomes
  part of a user's turn, between \`<system-message>\` and \`</system-message>\`. For a model with a tokenizer, its chat
  template shows this; otherwise the table does.
- \`tool_choice\` of type \`allowed_tools\` removes the other tools.
- A tool of type \`custom\` is a function with one text, and Weir returns its calls as \`custom\`. A grammar for it is a
  400, because no engine can enforce one.
- Weir reads \`functions\` and \`function_call\` as tools, and answers with \`function_call\`.
- Weir accepts \`file\` parts if their \`file_data\` is text (\`data:text/…\`). Other files and \`input_audio\` are a 400
  that names the part.

## Reasoning

By default reasoning is on, at the deepest level that both the model and the route support. If a requested level is
not supported, Weir uses the deepest supported level below it, or otherwise the lowest. \`minimal\` is \`low\`;
\`xhigh\` is \`max\`.

Weir sends a budget unchanged if the route accepts budgets. Otherwise it becomes a level:

| level | budget as a share of the output cap | without a cap |
|---|---|---|
| \`max\` | from 90 % | from 32768 tokens |
| \`high\` | from 65 % | from 12288 tokens |
| \`medium\` | from 35 % | from 4096 tokens |
| \`low\` | below | below |

A budget of 0 turns reasoning off. If the model always reasons, or no route can turn reasoning off, turning it off
is 400 \`reasoning_not_disableable\`.

Weir accepts every spelling. If a body contains several, the first of this list with a meaning wins:

1. \`reasoning_effort\`: \`none\`, \`minimal\`, \`low\`, \`medium\`, \`high\`, \`xhigh\`, \`max\`
2. \`reasoning\`: \`enabled: false\`, then \`max_tokens\`, then \`effort\`, then \`enabled: true\`
3. \`thinking\`: \`type\` of \`disabled\`, then \`budget_tokens\`, then \`type\` of \`enabled\` or \`adaptive\`
4. \`thinking_budget\`
5. \`enable_thinking\`
6. \`chat_template_kwargs\`: \`enable_thinking\`, then \`thinking\`

Engines receive:

${reasoningTable()}

Weir returns the trace in \`reasoning_content\` and, identical, in \`reasoning\`. In replayed messages it reads both,
\`reasoning_content\` first. The engine gets the one field that it supports.

## Ignored fields

Weir ignores unknown keys everywhere and never forwards them, including \`cache_control\` in parts and tools. It accepts
and drops \`user\` and \`safety_identifier\`. Other gateways act on the following keys. Weir does not: if a body contains
them, the response header \`x-service-inert-params\` names them:

${listed([...inertNames])}

The suffixes \`:nitro\` and \`:floor\` of a model id have no meaning, so Weir removes them. Any other suffix is 400
\`variant_not_supported\`, unless it is the end of an alias of a model.

## Operator overrides

An engine's row comes from its documentation and its source. If your server was built or started differently, set
this for a route in \`capabilities\` of its entry in the Model:

${overrideExample}

${overrideTable()} `;
