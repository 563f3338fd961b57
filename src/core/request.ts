import type { Sampling } from './parameters.ts';
import type { Source, WebSearchAsk } from './web-search.ts';

/** The depths of reasoning, the least first. */
export const reasoningEfforts = ['low', 'medium', 'high', 'max'] as const;
export type ReasoningEffort = (typeof reasoningEfforts)[number];

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
}

/** How closely a model should look at an image. */
export const imageDetails = ['auto', 'low', 'high'] as const;

export interface ImagePart {
  readonly type: 'image';
  /** An https URL or a data URL. */
  readonly url: string;
  readonly detail?: (typeof imageDetails)[number];
  /**
   * For an image that a tool returned: the text that a model without image input gets in its place. Absent for the
   * caller's own image: such a model cannot serve the request.
   */
  readonly alternative?: string;
}

export type Content = string | readonly (TextPart | ImagePart)[];

/** Fields of an earlier answer that only the engine can read, and that it wants back. */
export interface EngineState {
  /** Names the model that gets them. Another one would refuse them. */
  readonly of: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text, exactly as the model wrote it. */
  readonly arguments: string;
  readonly state?: EngineState | undefined;
}

export type Message =
  | { readonly role: 'system'; readonly content: Content; readonly name?: string }
  | { readonly role: 'user'; readonly content: Content; readonly name?: string }
  | {
      readonly role: 'assistant';
      readonly content?: Content | undefined;
      readonly name?: string | undefined;
      readonly reasoning?: string | undefined;
      readonly toolCalls?: readonly ToolCall[] | undefined;
      readonly state?: EngineState | undefined;
      /** The state as the caller has sent it back, until it is opened. */
      readonly sealedState?: string | undefined;
    }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly content: Content };

export interface Tool {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments, as the caller wrote it. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly strict?: boolean;
}

export const toolChoiceWords = ['auto', 'none', 'required'] as const;
export type ToolChoice = (typeof toolChoiceWords)[number] | { readonly name: string };

export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly name: string;
      readonly description?: string;
      readonly schema?: Readonly<Record<string, unknown>>;
      readonly strict?: boolean;
    };

/** A tool in a namespace, which engines do not have. */
export interface NamespacedTool {
  readonly namespace: string;
  readonly name: string;
}

/** How a caller wants the calls of tools that differ from functions only in name. */
export interface CallFormat {
  /** Tools that take free text in place of arguments: their calls carry the text itself. */
  readonly customTools: readonly string[];
  /** Tools that the caller has in a namespace, by the names that the model is shown. */
  readonly namespaced?: Readonly<Record<string, NamespacedTool>> | undefined;
  /** The caller knows only the format's first form: one `function_call`, in place of `tool_calls`. */
  readonly functionCall: boolean;
}

/** The form in which a caller wants the reasoning of the answer. */
export interface TraceForm {
  /** Whether the trace is sent as its own summary, for callers that show only summaries. */
  readonly asSummary: boolean;
  /** Whether a sealed copy goes along, which the caller sends back. */
  readonly sealed: boolean;
}

/** The reasoning that the caller asked for. Omitted: on, at the deepest setting (docs/reference/endpoints.md §4.1.1). */
export interface ReasoningAsk {
  readonly enabled: boolean;
  readonly effort?: ReasoningEffort;
  readonly budgetTokens?: number;
}

/** An order of documents. The first message is the query, each further one a document. */
export interface RankTask {
  readonly kind: 'rerank';
  readonly documents: number;
  /** Bytes of the query in UTF-8. Engines read it again with each document. */
  readonly queryBytes: number;
  readonly topN?: number | undefined;
  /** The documents as they go back to the caller, each as JSON text. Undefined: they do not. */
  readonly returned?: readonly string[] | undefined;
  readonly maxTokensPerDocument?: number | undefined;
}

/** What a request asks for in place of an answer in words. */
export type Task =
  | {
      /** Vectors. Each message is one input. */
      readonly kind: 'embedding';
      readonly inputs: number;
      readonly encoding: 'float' | 'base64';
      /** Undefined: the model's own length. */
      readonly dimensions?: number | undefined;
      /** Number of token ids of each input, if the inputs are lists of ids. Their messages hold these lists as JSON. */
      readonly tokenIds?: readonly number[] | undefined;
    }
  | RankTask;

/** A request as the caller means it, independent of any vendor's format. */
export interface Request {
  /** The id of a model or an alias, as `readModelName` gives it. */
  readonly modelName: string;
  /** Absent: an answer in words. */
  readonly task?: Task | undefined;
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  /** The service itself answers calls of `web_search`. `tools` has that tool in the form for the model (`webSearchTool`). */
  readonly webSearch?: WebSearchAsk | undefined;
  /** Results of searches in earlier turns that the caller sent back: an answer can cite them. */
  readonly sources?: readonly Source[] | undefined;
  readonly toolChoice?: ToolChoice | undefined;
  /** Absent: calls are written as calls of functions. */
  readonly callFormat?: CallFormat | undefined;
  /** Absent: the trace is written as it is. */
  readonly traceForm?: TraceForm | undefined;
  readonly responseFormat?: ResponseFormat | undefined;
  readonly reasoning?: ReasoningAsk | undefined;
  /** Cap on reasoning plus answer, tokens. */
  readonly maxOutputTokens?: number | undefined;
  readonly sampling: Sampling;
  readonly stream: boolean;
  /** Whether a final usage chunk is wanted on a stream. */
  readonly includeUsage: boolean;
  /** Fields accepted and deliberately not acted on, for `x-service-inert-params`. */
  readonly inert: readonly string[];
}
