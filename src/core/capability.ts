import type { EngineName } from './engine-name.ts';
import { type ParameterName, parameterNames } from './parameters.ts';
import { type Message, type ReasoningEffort, toolChoiceWords } from './request.ts';

export const toolChoiceForms = [...toolChoiceWords, 'named'] as const;
export type ToolChoiceForm = (typeof toolChoiceForms)[number];
export const structuredFormats = ['json_object', 'json_schema'] as const;
export type StructuredFormat = (typeof structuredFormats)[number];

/** Parts of a request that an engine may take alone, but not together with another. */
export const features = [...parameterNames, 'tools', 'tool_choice', 'response_format', 'reasoning'] as const;
export type Feature = (typeof features)[number];

/** Where an engine takes system messages: at the beginning, or wherever they stand. */
export const systemMessagePlaces = ['Leading', 'Anywhere'] as const;
export type SystemMessages = (typeof systemMessagePlaces)[number];

/** How the conversation is written for a model that cannot take it in its original form. */
export interface MessageForm {
  readonly systemMessages: SystemMessages;
  /** `described`: the model takes no images; images from tools are replaced by text. */
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

/** Which reasoning controls an engine supports. docs/reference/api.md §4.1.1. */
export interface ReasoningControl {
  /** Whether it can be turned off. */
  readonly off: boolean;
  /** Levels with a proven effect, in rising order; empty if the engine can only switch reasoning on and off. */
  readonly efforts: readonly ReasoningEffort[];
  /** Whether it takes a budget in tokens. */
  readonly budget: boolean;
}

/** Tag sets by name, for tables and manifests. */
export interface InlineReasoningNames {
  readonly tags: readonly TagSetName[];
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
  /** Optional parameters it supports. Others are refused or ignored there, or cause harm. */
  readonly parameters: readonly ParameterName[];
  /** Features that it refuses together. */
  readonly conflicts: readonly (readonly Feature[])[];
  readonly reasoning: ReasoningControl;
  /**
   * Where the chat template of its usual models accepts system messages. The operator or the model's own template can
   * override it.
   */
  readonly systemMessages: SystemMessages;
  /** How its reasoning stands inside its text, where it does. */
  readonly inlineReasoning?: InlineReasoningNames;
  readonly continuation: ContinuationMark;
  /** Whether it can also continue reasoning that broke off. Otherwise it continues only text. */
  readonly continuesReasoning?: true;
}

/** How reasoning is done on one route. Undefined if there is nothing to set. */
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
  /** Absent: the choice is asked for anew. */
  readonly partial?: PartialTurn;
  /** What is left of the caller's cap, tokens; absent: the whole of it. */
  readonly maxOutputTokens?: number | undefined;
}

/** A further call to the model within one answer, after the service has answered the calls of the one before. */
export interface Round {
  /** The turns since the caller's own messages: what the model said and what was found. */
  readonly turns: readonly Message[];
  /** What is left of the caller's cap, tokens; absent: there is none. */
  readonly maxOutputTokens?: number | undefined;
  /** Whether the model may go on searching. */
  readonly search: 'offered' | 'withdrawn';
}

/** Where a request goes, as far as writing its body is concerned. Plain data: it crosses to the worker. */
export interface RequestTarget {
  readonly engine: EngineName;
  readonly upstreamModel: string;
  /** Optional parameters to send; the others are left out. */
  readonly parameters: readonly ParameterName[];
  /** Set when no tool may be called, and the route has no word for that: its engine gets no tools. */
  readonly withholdsTools?: true | undefined;
  /** How the conversation is written. Absent: in its original form. */
  readonly form?: MessageForm;
  readonly reasoning?: ReasoningSetting | undefined;
  /** Set when one choice is asked for again. */
  readonly continuation?: Continuation | undefined;
  /** Set from the second call to the model on. A forced tool call is required only in the first call. */
  readonly round?: Round | undefined;
}

/**
 * How reasoning is marked inside an answer's text (docs/reference/engines.md §3). No tag of a set may be the beginning
 * of another tag that is searched for at the same place.
 */
export interface TagSet {
  /** Open the reasoning; only at the very beginning of an answer. */
  readonly open: readonly string[];
  /** End the reasoning. The rest is the answer, in which tags have no meaning. */
  readonly close: readonly string[];
  /** Stand between two stretches of reasoning. */
  readonly between?: readonly string[];
  /** Begin an answer that has no reasoning. */
  readonly plain?: readonly string[];
}

const harmony = (channel: string): string => `<|start|>assistant<|channel|>${channel}<|message|>`;

/** The known forms in which models write reasoning into their text. */
export const tagSets = {
  /** DeepSeek, Qwen3, GLM, MiniMax, Kimi K2, Nemotron and most others. */
  think: { open: ['<think>'], close: ['</think>'] },
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
 * How a route marks reasoning inside its text. Absent for a route that reports reasoning in a field or not at all. The
 * text of such a route is not searched for tags, because an answer can be about tags.
 */
export interface InlineReasoning {
  /** Sets that this route may use. */
  readonly tags: readonly TagSet[];
  /** The prompt's own end opened the reasoning, so that only the closing tag comes (R1, Qwen3-Thinking-2507). */
  readonly implicitOpen: boolean;
}
