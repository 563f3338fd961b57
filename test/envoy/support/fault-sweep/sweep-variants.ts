import { bothTools, json, off, short, type SweepShape, sweepShapes, tools } from './sweep-shapes.ts';

const inline = (tag: string): Readonly<Record<string, unknown>> => ({
  inlineReasoning: { tags: [tag], implicitOpen: false },
});

/** Pieces of other sizes, caps, stops, refusals. */
const texts: readonly SweepShape[] = [
  { name: 'unicode', fields: off, behaviour: { ...short, words: 16, unicode: true } },
  { name: 'coarse', fields: {}, behaviour: { ...short, deltaTokens: 4 } },
  // A token that is cut in its middle is two.
  {
    name: 'letters',
    fields: off,
    counting: 'reconciled',
    behaviour: { ...short, words: 8, unicode: true, deltaChars: 1 },
  },
  { name: 'glued', fields: off, behaviour: { ...short, eventsPerWrite: 3 } },
  { name: 'capped', fields: { ...off, max_tokens: 15 }, behaviour: { cachedTokens: 3, words: 40 } },
  {
    name: 'stopped',
    fields: { ...off, stop: ['river', 'e'] },
    behaviour: { ...short, contents: ['Down it pours to a river'] },
  },
  { name: 'probable', fields: { ...off, logprobs: true, top_logprobs: 1 }, behaviour: short },
  { name: 'filtered', fields: off, behaviour: { refusal: 'content-filter', cachedTokens: 3 } },
  { name: 'refused', fields: off, behaviour: { refusal: 'field', cachedTokens: 3 } },
];

/** Reasoning, and continuations that get it wrong. */
const reasoned: readonly SweepShape[] = [
  { name: 'capped-thought', fields: { max_tokens: 14 }, behaviour: { ...short, reasoningWords: 40 } },
  { name: 'reasoned-choices', fields: { n: 2 }, behaviour: { ...short, words: 5, reasoningWords: 5 } },
  { name: 'mixed', fields: {}, behaviour: { ...short, reasoningChunks: 'mixed' } },
  { name: 'inline', fields: {}, behaviour: { ...short, reasoningField: 'think' }, capabilities: inline('think') },
  {
    ...{ name: 'inline-split', fields: {}, capabilities: inline('think') },
    behaviour: { ...short, reasoningField: 'think', reasoningChunks: 'split-tags' },
  },
  { name: 'misfiled', fields: {}, behaviour: { ...short, continuationQuirk: 'misfiled' } },
  { name: 'restarting', fields: {}, behaviour: { ...short, continuationQuirk: 'restarts-reasoning' } },
];

/** Tools and structured output. */
const structured: readonly SweepShape[] = [
  {
    name: 'reasoned-tools',
    fields: { ...tools, reasoning_effort: 'high' },
    behaviour: { ...bothTools, reasoningWords: 6 },
  },
  {
    name: 'reasoned-json',
    fields: { ...json, reasoning_effort: 'high' },
    behaviour: { cachedTokens: 3, reasoningWords: 6 },
  },
  { name: 'json-object', fields: { ...off, response_format: { type: 'json_object' } }, behaviour: { cachedTokens: 3 } },
  { name: 'bent-tools', fields: tools, behaviour: { ...bothTools, toolQuirk: ['index-missing', 'id-missing'] } },
  { name: 'interleaved-tools', fields: tools, behaviour: { ...bothTools, toolQuirk: ['interleaved'] } },
  { name: 'whole-tools', fields: tools, behaviour: { ...bothTools, toolQuirk: ['whole-call'] } },
  { name: 'tool-choices', fields: { ...tools, n: 2 }, behaviour: bothTools },
  {
    ...{ name: 'spaced-tools', fields: tools, behaviour: bothTools, spare: { jsonSpaces: true } },
    ...{ looseJson: true, counting: 'reconciled' },
  },
  {
    ...{ name: 'begun-json', fields: json, behaviour: { cachedTokens: 3 } },
    // Where an answer was cut inside of a token, it cannot be said whose token it is.
    ...{ spare: { continuationQuirk: 'restarts-text' }, counting: 'reconciled' },
  },
  {
    ...{ name: 'spaced-json', fields: json, behaviour: { cachedTokens: 3 } },
    ...{ spare: { continuationQuirk: 'restarts-text', jsonSpaces: true }, looseJson: true, counting: 'reconciled' },
  },
];

/** Engines that are told otherwise to go on, and count otherwise or not at all. */
const engines: readonly SweepShape[] = [
  { name: 'sglang', kind: 'sglang', fields: {}, behaviour: { ...short, continuation: 'flag' } },
  {
    ...{ name: 'llamacpp', kind: 'llamacpp', fields: {}, counting: 'reconciled' },
    behaviour: { ...short, continuation: 'echo' },
  },
  {
    ...{ name: 'llamacpp-counted', kind: 'llamacpp', fields: {}, tokenizer: true },
    behaviour: { ...short, continuation: 'echo' },
  },
  { name: 'counted', kind: 'llamacpp', fields: off, tokenizer: true, behaviour: { ...short, continuation: 'echo' } },
  { name: 'counted-tools', kind: 'llamacpp', fields: tools, tokenizer: true, behaviour: bothTools },
  {
    ...{ name: 'moonshot', kind: 'moonshot', fields: {}, counting: 'reconciled' },
    behaviour: { ...short, continuation: 'partial', usage: 'cached-top-level' },
  },
  {
    ...{
      name: 'deepseek',
      kind: 'deepseek',
      fields: {},
      tokenizer: true,
      capabilities: { continuationMark: 'prefix' },
    },
    behaviour: { ...short, continuation: 'prefix', reasoningField: 'both-one-null', usageWhere: 'finish-chunk' },
  },
  {
    ...{ name: 'ollama', kind: 'ollama', fields: off, tokenizer: true },
    behaviour: { ...short, continuation: 'trailing' },
  },
  {
    ...{ name: 'uncounted', kind: 'ollama', fields: off, counting: 'reconciled' },
    behaviour: { ...short, continuation: 'trailing', usage: 'absent' },
  },
];

/** More answers, and other engines: a smaller sample of each is broken. */
export const sweepVariants = {
  ...{ texts, reasoned, structured, engines },
  several: [sweepShapes.tools, sweepShapes.spokenTools, sweepShapes.choices],
};
