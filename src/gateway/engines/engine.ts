import { type Capabilities, type ReasoningSetting, type ScoreScale, structuredFormats } from '../../core/capability.ts';
import type { ResponseFormat } from '../../core/request.ts';
import type { MessageDemands } from './message-demands.ts';
import type { LoadGauges } from '../core/engine-load.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Where the calls of a task go, behind the Backend's own path. */
export const taskPaths = { embedding: '/embeddings', rerank: '/rerank' } as const;

/** How an engine makes embeddings: `POST` in the form of the public wire format. */
export interface EmbeddingsRow {
  /** The engine answers in base64 if it is asked to. Others are asked for numbers, whatever the caller wants. */
  readonly base64: boolean;
  /** The engine can shorten vectors. */
  readonly dimensions: boolean;
  /** The engine takes lists of token ids. */
  readonly tokenIds: boolean;
  /** Most inputs of one call. Absent: the engine has no limit of its own. */
  readonly maxInputs?: number;
}

/** How an engine orders documents. `cohere`: the common form, also of Jina and vLLM. `tei`: text-embeddings-inference's own. */
export interface RerankRow {
  /** The path is beside the `/v1` of the Backend's own path, and not below it. */
  readonly besideV1?: true;
  readonly form: 'cohere' | 'tei';
  /** What the scores of its usual models are. Routes can declare another scale. */
  readonly scores: ScoreScale;
  /** Field for the most tokens of a document. Absent: the engine does not cut documents at a number of the caller's. */
  readonly documentLimit?: string;
  /** The engine returns the documents unless it is told not to. */
  readonly echoes?: 'unless-told';
  /** Response header with the number of tokens, where the body has none. */
  readonly tokensHeader?: string;
  /** Most documents of one call. Absent: the engine has no limit of its own. */
  readonly maxDocuments?: number;
}

/** One engine: what it can do, and how its requests differ from the public wire format (docs/reference/engines.md §3 to §7). */
export interface Engine {
  /** The parameters that the engine accepts, and their names, are in `core/parameters.ts`. */
  readonly capabilities: Omit<Capabilities, 'parameters'>;
  readonly servesChat?: false;
  /** Absent: the engine makes no embeddings. */
  readonly embeddings?: EmbeddingsRow | undefined;
  /** Absent: the engine orders no documents. */
  readonly rerank?: RerankRow | undefined;
  /** Field that carries the output cap. */
  readonly capField: 'max_tokens' | 'max_completion_tokens';
  /** Field in which a replayed assistant message carries its reasoning; `none` where the engine refuses or ignores it. */
  readonly reasoningField: 'reasoning_content' | 'reasoning' | 'none';
  /** How usage is requested on a stream: with `stream_options`, also with running totals, or not at all. */
  readonly streamUsage: 'include' | 'continuous' | 'always';
  /** The engine accepts no name in `tool_choice`. A named tool is sent as the only tool, with `required`. */
  readonly namedToolAlone?: true;
  /** The prefix cache can be divided: prompts with different salts share nothing. Other engines ignore a salt, or refuse it. */
  readonly cacheSalt?: true;
  /** The engine reports its load in Prometheus' text format under `/metrics`. */
  readonly loadGauges?: LoadGauges;
  /** The engine loads a model when a request names it, and is silent meanwhile. */
  readonly loadsOnDemand?: true;
  readonly strictTools: boolean;
  readonly writeReasoning: (setting: ReasoningSetting) => Fields;
  readonly writeResponseFormat: (format: StructuredResponseFormat) => Fields;
  /** What the engine demands of every conversation. Its models may demand more. */
  readonly demands?: MessageDemands;
  /** Further fields that this engine needs in a request. */
  readonly extra?: (request: { readonly stream: boolean; readonly sendsTools: boolean }) => Fields;
}

export type StructuredResponseFormat = Exclude<ResponseFormat, { readonly type: 'text' }>;

/**
 * Writes the public wire format: `{type: 'json_object'}` or `{type: 'json_schema', json_schema: {name, schema,
 * strict}}`. A caller may omit the schema, but engines require one. Then the format is any object, and `strict` has no
 * meaning.
 */
export function usualResponseFormat(format: StructuredResponseFormat): Fields {
  if (format.type === 'json_object') return { response_format: { type: 'json_object' } };
  const { type, schema, strict, ...named } = format;
  const wanted = schema === undefined ? { schema: { type: 'object' } } : { schema, strict };
  return { response_format: { type, json_schema: { ...named, ...wanted } } };
}

/** Writes `reasoning_effort`, with `none` for off. */
export const byEffort = (setting: ReasoningSetting): Fields => ({
  reasoning_effort: setting.enabled ? setting.effort : 'none',
});

/** Writes `thinking: {type}`, and `reasoning_effort` beside it. */
export const byThinking = (setting: ReasoningSetting): Fields => ({
  thinking: { type: setting.enabled ? 'enabled' : 'disabled' },
  reasoning_effort: setting.enabled ? setting.effort : undefined,
});

/** Writes arguments of the chat template. Models name the switch differently, and a template ignores other names. */
export const byTemplate = (setting: ReasoningSetting): Fields => ({
  chat_template_kwargs: { enable_thinking: setting.enabled, thinking: setting.enabled },
  reasoning_effort: setting.enabled ? setting.effort : undefined,
});

export const everyFormat: Capabilities['responseFormats'] = { json: structuredFormats, stream: structuredFormats };
export const objectFormat: Capabilities['responseFormats'] = { json: ['json_object'], stream: ['json_object'] };
