import type { BehaviourInput } from '../../../programmable-engine/behaviour.ts';
import type { Chance } from '../../../support/chance.ts';
import { type StormKind, stormKinds, stormModels } from '../money-storm/storm-kinds.ts';

/** Models beside those of the money storm. */
export const soakModels = {
  /** Takes images, too. */
  usual: 'soak/usual',
  /** Its answers come from engines that break in every way there is. */
  broken: 'soak/broken',
  /** The processes of its endpoints are killed. */
  killed: 'soak/killed',
  /** Asked by the probe alone. */
  probed: 'soak/probed',
  /** Asked by attackers: of engines that everybody shares, and of one that means harm. */
  attacked: 'soak/attacked',
  hostile: 'soak/hostile',
  /** There at one time and gone at another. */
  changing: 'soak/changing',
} as const;

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city', 'days'],
  additionalProperties: false,
};
const names = ['get_weather', 'get_time'] as const;
const chatTools = names.map((name) => ({ type: 'function', function: { name, parameters: schema } }));
const messagesTools = names.map((name) => ({ name, input_schema: schema }));
const responsesTools = [
  ...names.map((name) => ({ type: 'function', name, parameters: schema })),
  { type: 'custom', name: 'note', description: 'Keeps a note.' },
];
const structured = {
  response_format: { type: 'json_schema', json_schema: { name: 'stay', schema, strict: true } },
};
const responsesStructured = { text: { format: { type: 'json_schema', name: 'stay', schema, strict: true } } };
/** Sentences of four words. The books compare the text of an answer with them. */
const known = (chance: Chance, sentences = 12 + chance.below(20)): string =>
  Array.from({ length: sentences }, (_, index) => `Level ${index} is ${chance.below(1000)}.`).join(' ');
/** Conversations that another service would have kept. */
const stored: readonly Readonly<Record<string, unknown>>[] = [
  { previous_response_id: 'resp_of_another_service' },
  { conversation: 'conv_of_another_service' },
  { background: true },
  { input: [{ type: 'item_reference', id: 'msg_of_another_service' }] },
];
const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
/** Too much to be read on the event loop. */
const large = { filler: 'x'.repeat(200_000) };

const search = {
  tools: [{ type: 'web_search_20250305', name: 'web_search' }],
};
const searching: BehaviourInput = {
  reasoning: 'never',
  script: [
    { say: '', call: [{ name: 'web_search', arguments: '{"query":"the water"}' }] },
    { say: 'The answer is 41 [cite:1].', call: [] },
  ],
};

/** Every way in which an engine breaks on the wire, at any place. */
const wireFault = (chance: Chance): BehaviourInput => ({
  words: 20,
  on: [chance.pick(['alpha', 'beta'])],
  fault: chance.pick([
    ...(['cut', 'reset', 'stall', 'truncate', 'end', 'error'] as const),
    ...(['error-then-done', 'error-then-cut', 'malformed', 'malformed-then-cut'] as const),
  ]),
  at: chance.pick(['before-headers', 'after-headers', { events: 1 + chance.below(12) }]),
  stallMs: 300,
});
const errorReply = (chance: Chance): BehaviourInput => ({
  words: 20,
  on: [chance.pick(['alpha', 'beta'])],
  status: chance.pick([200, 400, 401, 404, 408, 413, 422, 429, 500, 502, 503, 529]),
  errorBody: chance.pick(['engine', 'flat', 'detail', 'string', 'array', 'text', 'html', 'empty', 'not-json']),
});
/** Answers that are whole and not as they should be. */
const bent = (chance: Chance): BehaviourInput => ({
  words: 20,
  ...chance.pick<BehaviourInput>([
    { noFinish: true },
    { done: 'absent' },
    { done: 'unterminated' },
    { roleChunk: 'null-content' },
    { roleChunk: 'repeated' },
    { emptyChunks: true },
    { usage: 'total-mismatch' },
    { usage: 'null-details' },
    { usage: 'cached-above-prompt' },
    { usageWhere: 'every-chunk' },
    { usageWhere: 'x_groq' },
    { lineEnding: 'crlf' },
    { multilineData: true },
    { chunkBytes: 7 },
    { eventsPerWrite: 5 },
    { gzip: true },
    { unicode: true },
    { finishReason: 'unknown' },
  ]),
});
/** A broken answer is served by the other engine, or is an error; which one it is the books know. */
const broken = { model: soakModels.broken, statuses: [200, 400, 413, 429, 500, 502, 503, 504] } as const;

const kinds = {
  'messages, whole answer': { share: 60, make: () => ({ surface: 'messages', stream: false }) },
  'messages, stream': { share: 80, make: () => ({ surface: 'messages' }) },
  'messages, failed over in mid-stream': {
    share: 30,
    make: (chance) => ({
      surface: 'messages',
      model: stormModels.failing,
      directives: { words: 30, on: [chance.pick(['alpha', 'beta'])], cutAfterEvents: 2 + chance.below(12) },
    }),
  },
  'messages, cancelled in mid-stream': {
    share: 30,
    make: (chance) => ({
      surface: 'messages',
      directives: { words: 60, tokenDelayMs: 8 },
      leaving: { kind: 'pieces', count: 1 + chance.below(6) },
    }),
  },
  'messages, tools': {
    share: 20,
    make: (chance) => ({
      ...{ surface: 'messages', stream: chance.is(0.5) },
      fields: { tools: messagesTools, tool_choice: { type: 'any' } },
    }),
  },
  'messages, web search': {
    share: 30,
    make: (chance) => ({ surface: 'messages', stream: chance.is(0.5), fields: search, directives: searching }),
  },
  'responses, whole answer': {
    share: 60,
    make: (chance) => ({ surface: 'responses', stream: false, directives: { content: known(chance) } }),
  },
  'responses, stream': {
    share: 80,
    make: (chance) => ({ surface: 'responses', directives: { content: known(chance) } }),
  },
  'responses, failed over in mid-stream': {
    share: 30,
    make: (chance) => ({
      ...{ surface: 'responses', model: stormModels.failing },
      // Of 48 words. What is left of them is too short to be cut again.
      directives: { content: known(chance, 12), cutAfterEvents: 28 + chance.below(12) },
    }),
  },
  'responses, cancelled in mid-stream': {
    share: 30,
    make: (chance) => ({
      surface: 'responses',
      directives: { words: 60, tokenDelayMs: 8 },
      leaving: { kind: 'pieces', count: 1 + chance.below(6) },
    }),
  },
  'responses, tools': {
    share: 20,
    make: (chance) => ({
      ...{ surface: 'responses', stream: chance.is(0.5) },
      fields: { tools: responsesTools, tool_choice: 'required' },
    }),
  },
  'responses, structured output': {
    share: 20,
    make: (chance) => ({ surface: 'responses', stream: chance.is(0.5), fields: responsesStructured }),
  },
  'responses, reasoning sealed': {
    share: 20,
    make: (chance) => ({
      ...{ surface: 'responses', stream: chance.is(0.5) },
      fields: { reasoning: { effort: chance.pick(['low', 'high']) }, include: ['reasoning.encrypted_content'] },
      directives: { words: 8, reasoningWords: 12 },
    }),
  },
  'responses, web search': {
    share: 20,
    make: (chance) => ({
      ...{ surface: 'responses', stream: chance.is(0.5) },
      ...{ fields: { tools: [{ type: 'web_search' }] }, directives: searching },
    }),
  },
  'responses, broken on the wire': {
    share: 40,
    make: (chance) => ({ ...broken, surface: 'responses', stream: chance.is(0.7), directives: wireFault(chance) }),
  },
  'responses, of what is not stored': {
    share: 10,
    make: (chance) => ({
      ...{ surface: 'responses', stream: chance.is(0.5) },
      ...{ fields: chance.pick(stored), statuses: [400] },
    }),
  },
  tools: {
    share: 40,
    make: (chance) => ({ stream: chance.is(0.5), fields: { tools: chatTools, tool_choice: 'required' } }),
  },
  'structured output': { share: 40, make: (chance) => ({ stream: chance.is(0.5), fields: structured }) },
  'structured output that does not hold': {
    share: 20,
    make: (chance) => ({
      ...broken,
      stream: chance.is(0.5),
      fields: structured,
      directives: { jsonDefect: chance.pick(['not-json', 'truncated', 'wrong-schema', 'fenced', 'empty']) },
    }),
  },
  reasoning: {
    share: 40,
    make: (chance) => ({
      ...{ stream: chance.is(0.5), fields: { reasoning_effort: chance.pick(['low', 'medium', 'high', 'max']) } },
      directives: { words: 8, reasoningWords: 12 },
    }),
  },
  'several choices': { share: 30, make: (chance) => ({ stream: chance.is(0.5), fields: { n: 2 + chance.below(3) } }) },
  'an image': {
    share: 20,
    make: (chance) => ({
      ...{ model: soakModels.usual, stream: chance.is(0.5) },
      parts: [{ type: 'image_url', image_url: { url: pixel } }],
    }),
  },
  'a large request': { share: 10, make: (chance) => ({ stream: chance.is(0.5), fields: large }) },
  'broken on the wire': {
    share: 60,
    make: (chance) => ({ ...broken, stream: chance.is(0.7), directives: wireFault(chance) }),
  },
  'an error in its place': {
    share: 30,
    make: (chance) => ({ ...broken, stream: chance.is(0.5), directives: errorReply(chance) }),
  },
  'bent answer': { share: 40, make: (chance) => ({ ...broken, stream: chance.is(0.7), directives: bent(chance) }) },
  'of endpoints that are killed': {
    share: 100,
    make: (chance) => ({
      ...{ model: soakModels.killed, stream: chance.is(0.7), statuses: [200, 502, 503] },
      directives: { words: 20, tokenDelayMs: 5 },
    }),
  },
} as const satisfies Readonly<Record<string, StormKind>>;

/** What a soak is made of: all that a money storm has, and what it has not. */
export const soakKinds: Readonly<Record<string, StormKind>> = { ...stormKinds, ...kinds };
