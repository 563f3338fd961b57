import type { EngineName } from './engine-name.ts';
import { type ParameterName, parameterNames, type Sampling } from './parameters.ts';
import { type Message, type ReasoningEffort, toolChoiceWords } from './request.ts';

export const toolChoiceForms = [...toolChoiceWords, 'named'] as const;
export type ToolChoiceForm = (typeof toolChoiceForms)[number];
export const structuredFormats = ['json_object', 'json_schema'] as const;
export type StructuredFormat = (typeof structuredFormats)[number];

/** Parts of a request that not every engine supports. Some engines support two of them, but not in the same request. */
export const features = [...parameterNames, 'tools', 'tool_choice', 'response_format', 'reasoning'] as const;
export type Feature = (typeof features)[number];

/**
 * Fields that the service itself adds to a request or spells for an engine, and the words by which errors name them. An engine that
 * does not know such a field gets its other spelling (the output cap), or none: no caller asked for it.
 */
export const ownFieldWords = {
  cap: /\bmax_(?:completion_)?tokens\b/,
  runningUsage: /\bcontinuous_usage_stats\b/,
  streamUsage: /\bstream_options\b|\binclude_usage\b/,
  toolStream: /\btool_stream\b/,
  /** The reasoning of earlier turns. */
  trace: /\breasoning_content\b|\bmessages\b.*\breasoning\b/,
  /** The model's usual reasoning, where the caller asks for none in particular. */
  reasoning: /\bchat_template_kwargs\b|\benable_thinking\b|\bthinking\b|\breasoning_effort\b/,
} as const satisfies Readonly<Record<string, RegExp>>;
export type OwnField = keyof typeof ownFieldWords;

// oxlint-disable-next-line typescript/consistent-type-assertions -- Object.keys forgets the key type
export const ownFields = Object.keys(ownFieldWords) as readonly OwnField[];

/** Where an engine accepts system messages: only at the beginning, or anywhere. */
export const systemMessagePlaces = ['Leading', 'Anywhere'] as const;
export type SystemMessages = (typeof systemMessagePlaces)[number];

/** How the conversation is written for a model that does not accept its original form. */
export interface MessageForm {
  readonly systemMessages: SystemMessages;
  /** `described`: the model accepts no images; images from tools are replaced by text. */
  readonly images: 'sent' | 'described';
}

export const continuationMarks = [
  /** `continue_final_message: true`, `add_generation_prompt: false`. */
  'flag',
  /** `prefix: true` on the message. */
  'prefix',
  /** `partial: true` on the message. */
  'partial',
  /** No mark at all. */
  'trailing',
  /** No mark; the answer repeats the partial one first. */
  'echo',
] as const;

/**
 * How an engine is made to continue a partial answer, sent as a trailing assistant message. docs/reference/engines.md
 * §5.
 */
export type ContinuationMark = 'none' | (typeof continuationMarks)[number];

/** Which reasoning controls an engine supports. docs/reference/endpoints.md §4.1.1. */
export interface ReasoningControl {
  readonly off: boolean;
  /** Levels with a proven effect, in rising order; empty if the engine can only switch reasoning on and off. */
  readonly efforts: readonly ReasoningEffort[];
  /** Whether the engine accepts a budget in tokens. */
  readonly budget: boolean;
}

/**
 * What the scores of an engine that ranks documents are. `Probability`: 0 to 1. `Logit`: any number, of which a sigmoid makes a
 * probability. `Cosine`: -1 to 1, of an embedding model.
 */
export const scoreScales = ['Probability', 'Logit', 'Cosine'] as const;
export type ScoreScale = (typeof scoreScales)[number];

/** Two tags of an operator's own. */
export interface TagPair {
  readonly open: string;
  readonly close: string;
}

/** Tag sets by name, for tables and manifests. */
export interface InlineReasoningNames {
  readonly tags: readonly TagSetName[];
  /** Tags that no set has. */
  readonly pairs?: readonly TagPair[] | undefined;
  /** The end of the prompt opens the reasoning, so only the closing tag is in the answer. */
  readonly implicitOpen: boolean;
}

/** What a route can do. Fields for streams override the general ones. */
export interface Capabilities {
  readonly tools: { readonly json: boolean; readonly stream: boolean };
  readonly toolChoice: readonly ToolChoiceForm[];
  readonly responseFormats: {
    readonly json: readonly StructuredFormat[];
    readonly stream: readonly StructuredFormat[];
  };
  /** Optional parameters that the route supports. It refuses or ignores all others, or they cause harm. */
  readonly parameters: readonly ParameterName[];
  /** Sets of features that the route refuses together. */
  readonly conflicts: readonly (readonly Feature[])[];
  readonly reasoning: ReasoningControl;
  /**
   * Where the chat template of the engine's usual models accepts system messages. The operator or the model's own
   * template can override it.
   */
  readonly systemMessages: SystemMessages;
  /** How the route marks reasoning inside the text of an answer. Absent if the text has no reasoning. */
  readonly inlineReasoning?: InlineReasoningNames;
  readonly continuation: ContinuationMark;
  /** Whether the route can also continue reasoning that broke off. Otherwise it continues only text. */
  readonly continuesReasoning?: true;
}

/** The setting for reasoning on one route. Undefined if there is nothing to set. */
export type ReasoningSetting =
  | { readonly enabled: false }
  | { readonly enabled: true; readonly effort?: ReasoningEffort | undefined; readonly budgetTokens?: number };

/** The delivered part of a choice, for an engine to continue. */
export interface PartialTurn {
  readonly mark: Exclude<ContinuationMark, 'none'>;
  readonly text: string;
  readonly reasoning?: string | undefined;
}

/** How the answer to one choice is requested again after another route broke off. */
export interface Continuation {
  /** Absent: the choice is requested from its beginning. */
  readonly partial?: PartialTurn;
  /** What is left of the caller's cap, tokens; absent: the whole of it. */
  readonly maxOutputTokens?: number | undefined;
}

/** A further call to the model within one answer. Before it, the service has answered the tool calls of the previous call. */
export interface Round {
  /** The turns after the caller's own messages: the model's search calls and their results. */
  readonly turns: readonly Message[];
  /** What is left of the caller's cap, tokens; absent: there is none. */
  readonly maxOutputTokens?: number | undefined;
  /** Whether the model may go on searching. */
  readonly search: 'offered' | 'withdrawn';
}

/** The facts about a route that decide how a request's body is written. Plain data, because a worker needs them, too. */
export interface RequestTarget {
  readonly engine: EngineName;
  readonly upstreamModel: string;
  /** Optional parameters to send; the others are left out. */
  readonly parameters: readonly ParameterName[];
  /** The operator's values for parameters: those that the caller left open, and those that are above a bound. */
  readonly sampling?: Sampling | undefined;
  /** The operator's cap: the default if the caller sent none, and the bound. A lower one of the caller's is sent. */
  readonly maxOutputTokens?: number | undefined;
  /** Set when no tool may be called and the engine has no parameter to forbid calls. The engine then gets no tools. */
  readonly withholdsTools?: true | undefined;
  /** Divides the engine's prefix cache: prompts with different salts share nothing. Absent: all prompts may share it. */
  readonly cacheSalt?: string | undefined;
  /** How the conversation is written. Absent: in its original form. */
  readonly form?: MessageForm;
  readonly reasoning?: ReasoningSetting | undefined;
  /** The service's own fields that the route does not know. Absent: none. */
  readonly unknownFields?: readonly OwnField[] | undefined;
  /** Set when one choice is requested again. */
  readonly continuation?: Continuation | undefined;
  /** Set from the second call to the model on. A forced tool call is required only in the first call. */
  readonly round?: Round | undefined;
  /** Length to which the engine shortens vectors. Absent: their own. */
  readonly shortenTo?: number | undefined;
  /** Lengths to which documents are cut before they are ranked, UTF-16 units. Absent: they are not cut here. */
  readonly documentLengths?: readonly number[] | undefined;
  /** The part of the inputs, or of the documents, that one call carries. Absent: all. */
  readonly piece?: Piece | undefined;
}

/** A run of the inputs of a request, or of its documents. */
export interface Piece {
  readonly first: number;
  readonly count: number;
}

/**
 * How reasoning is marked inside an answer's text (docs/reference/engines.md §3). No tag of a set may be the beginning
 * of another tag that is searched for at the same place.
 */
export interface TagSet {
  /** Tags that open the reasoning, only at the very beginning of an answer. */
  readonly open: readonly string[];
  /** Tags that end the reasoning. The rest is the answer, in which tags have no meaning. */
  readonly close: readonly string[];
  /** Tags between two stretches of reasoning. */
  readonly between?: readonly string[];
  /** Tags that begin an answer without reasoning. */
  readonly plain?: readonly string[];
}

const harmony = (channel: string): string => `<|start|>assistant<|channel|>${channel}<|message|>`;

/** The known forms in which models write reasoning into their text. */
export const tagSets = {
  /** DeepSeek, Qwen3, GLM, MiniMax, Kimi K2, Nemotron and most others. */
  think: { open: ['<think>'], close: ['</think>'] },
  /** Granite, fine-tunes of Llama and others that were taught their own words. */
  reasoning: { open: ['<reasoning>'], close: ['</reasoning>'] },
  thinking: { open: ['<thinking>'], close: ['</thinking>'] },
  thought: { open: ['<thought>'], close: ['</thought>'] },
  /** Seed-OSS. */
  seed: { open: ['<seed:think>'], close: ['</seed:think>'] },
  /** Kimi-VL, Kimi-Dev. */
  kimi: { open: ['◁think▷'], close: ['◁/think▷'] },
  /** Magistral. */
  bracket: { open: ['[THINK]'], close: ['[/THINK]'] },
  /** Gemma 4. The channel's name is followed by a line feed. */
  gemma: { open: ['<|channel>thought'], close: ['<channel|>'] },
  /** gpt-oss, where the engine leaves its special tokens in the text. */
  harmony: {
    open: ['<|channel|>analysis<|message|>', harmony('analysis')],
    close: [`<|end|>${harmony('final')}`, `<|end|>${harmony('commentary')}`],
    between: [`<|end|>${harmony('analysis')}`],
    plain: ['<|channel|>final<|message|>', harmony('final')],
  },
} as const satisfies Readonly<Record<string, TagSet>>;

export type TagSetName = keyof typeof tagSets;

// oxlint-disable-next-line typescript/consistent-type-assertions -- Object.keys forgets the key type
export const tagSetNames = Object.keys(tagSets) as readonly TagSetName[];

/**
 * How a route marks reasoning inside its text. Absent for a route that reports reasoning in a field or not at all: its
 * text is not searched for tags, because an answer can be about tags.
 */
export interface InlineReasoning {
  /** Sets that this route may use. */
  readonly tags: readonly TagSet[];
  /** The end of the prompt opens the reasoning, so only the closing tag is in the answer (R1, Qwen3-Thinking-2507). */
  readonly implicitOpen: boolean;
}
