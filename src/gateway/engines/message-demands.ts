import type { JsonObject } from '../../core/json.ts';

/** The ids of calls that a model can use. */
export interface CallIds {
  readonly form: RegExp;
  /** Makes the id of a call of another model, from the name of its tool and its place among all calls. Absent: any short id will do. */
  readonly make?: (name: string, place: number) => string;
}

/** What an engine demands of a conversation that others leave out, or refuse. A field that is absent is no demand. */
export interface MessageDemands {
  readonly callIds?: CallIds;
  /** Trace of a turn with calls that has none, while the model reasons. */
  readonly missingTrace?: string;
  /** Field of the trace, for an engine that has none of its own: its host passes the field on. */
  readonly traceField?: 'reasoning_content';
  /** Text of a turn that has neither text nor calls. */
  readonly missingText?: string;
  /** Turn of the assistant between results of tools and what the user says next. */
  readonly answerToResults?: string;
  /** Results carry the name of their tool. */
  readonly namesResults?: true;
  /** Fields of the first call of a turn, if the engine's own are not known: another model may have made the call. */
  readonly firstCall?: JsonObject;
}

/** Demands of models, whichever engine serves them. Their names are all that tells. */
const models: readonly (readonly [name: RegExp, demands: MessageDemands])[] = [
  [
    // mistral-common, which Mistral's API and vLLM use, and the templates of its models.
    /(?:^|[^a-z])(?:mi[sx]tral|ministral|magistral|devstral|codestral|pixtral|voxtral)/i,
    { callIds: { form: /^[a-zA-Z0-9]{9}$/ }, missingText: '…', answerToResults: 'OK.', namesResults: true },
  ],
  [
    // Gemini 3 and later. Google documents this value for calls that another model has made.
    /(?:^|[^a-z])gemini-(?![12])/i,
    {
      namesResults: true,
      firstCall: { extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } } },
    },
  ],
  [/(?:^|[^a-z])claude/i, { callIds: { form: /^[\w-]{1,64}$/ }, missingText: '…' }],
  [/(?:^|[^a-z])gpt-\d/i, { callIds: { form: /^.{1,40}$/s } }],
  // The template prints the id of a call, and its name nowhere else. With ids of other models the model falls silent.
  [
    /(?:^|[^a-z])kimi-?k2/i,
    { callIds: { form: /^functions\.[\w.-]+:\d+$/, make: (name, place) => `functions.${name}:${place}` } },
  ],
  // They refuse a turn with calls without its trace, whoever hosts them.
  [/(?:^|[^a-z])(?:deepseek[-_.]?v[4-9]|mimo)/i, { traceField: 'reasoning_content' }],
];

export const demandsOfModel = (names: readonly string[]): MessageDemands | undefined =>
  models.find(([pattern]) => names.some((name) => pattern.test(name)))?.[1];
