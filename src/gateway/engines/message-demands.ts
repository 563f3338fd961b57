import type { JsonObject } from '../../core/json.ts';

/** What an engine demands of a conversation that others leave out, or refuse. A field that is absent is no demand. */
export interface MessageDemands {
  /** The form of the ids of calls. */
  readonly callIds?: RegExp;
  /** Trace of a turn with calls that has none, while the model reasons. */
  readonly missingTrace?: string;
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
    { callIds: /^[a-zA-Z0-9]{9}$/, missingText: '…', answerToResults: 'OK.', namesResults: true },
  ],
  [
    // Gemini 3 and later. Google documents this value for calls that another model has made.
    /(?:^|[^a-z])gemini-(?![12])/i,
    {
      namesResults: true,
      firstCall: { extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } } },
    },
  ],
  [/(?:^|[^a-z])claude/i, { callIds: /^[\w-]{1,64}$/, missingText: '…' }],
  [/(?:^|[^a-z])gpt-\d/i, { callIds: /^.{1,40}$/s }],
];

/** The demands of a model, by its names. */
export const demandsOfModel = (names: readonly string[]): MessageDemands | undefined =>
  models.find(([pattern]) => names.some((name) => pattern.test(name)))?.[1];
