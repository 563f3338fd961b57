import type { BehaviourInput } from '../programmable-engine/behaviour.ts';
import type { BackendsLike } from './catalog.ts';
import type { RequestEvent } from './events.ts';
import type { SweepShape } from './make-sweep.ts';

/** Answers that are broken beside engines of one kind. */
export interface SweepVariants {
  readonly backends?: BackendsLike;
  readonly shapes: readonly SweepShape[];
}

const shape = (
  manners: BehaviourInput,
  fields: Partial<Pick<RequestEvent, 'ask' | 'model' | 'choices' | 'words' | 'maxTokens' | 'fields'>> = {},
): SweepShape => ({
  ...{ surface: 'chat', ask: 'text', model: 'tiny', choices: 1, stream: true, manners },
  ...fields,
});
const thinks = { model: 'thinker' } as const;
const calls = { ask: 'tools' } as const;
const json = { ask: 'schema' } as const;
const inline = { inlineReasoning: { tags: ['think'], implicitOpen: false } } as const;
const thought = (manners: BehaviourInput): readonly SweepShape[] => [shape(manners), shape(manners, thinks)];

/** Pieces of other sizes, caps, stops, refusals, reasoning, tools, continuations that get it wrong, and each way to continue and to count. */
export const sweepVariants: Readonly<Record<string, SweepVariants>> = {
  texts: {
    shapes: [
      shape({ unicode: true }, { words: 16 }),
      shape({ deltaTokens: 4 }, thinks),
      shape({ unicode: true, deltaChars: 1 }, { words: 8 }),
      shape({ eventsPerWrite: 3 }),
      shape({}, { words: 40, maxTokens: 15 }),
      shape({ contents: ['Down it pours to a river'] }, { fields: { stop: ['river', 'e'] } }),
      shape({ contents: ['Down the river it goes, past the mill.', 'Upstream, nothing moved.'] }, { choices: 2 }),
      shape({}, { fields: { logprobs: true, top_logprobs: 1 } }),
      shape({ refusal: 'content-filter' }),
      shape({ refusal: 'field' }),
    ],
  },
  reasoning: {
    shapes: [
      shape({}, { ...thinks, maxTokens: 4 }),
      shape({ reasoningChunks: 'mixed' }, thinks),
      shape({ continuationQuirk: 'misfiled' }, thinks),
      shape({ continuationQuirk: 'restarts-reasoning' }, thinks),
    ],
  },
  'reasoning within the text': {
    backends: { engine: 'vllm', capabilities: inline },
    shapes: [
      shape({ reasoningField: 'think' }, thinks),
      shape({ reasoningField: 'think', reasoningChunks: 'split-tags' }, thinks),
    ],
  },
  structured: {
    shapes: [
      shape({}, { fields: { response_format: { type: 'json_object' } } }),
      shape({ toolPreamble: true }, calls),
      shape({ callTools: ['get_weather', 'get_weather'] }, calls),
      shape({ callTools: ['get_weather', 'get_weather'], toolQuirk: ['index-missing', 'id-missing'] }, calls),
      shape({ callTools: ['get_weather', 'get_weather'], toolQuirk: ['interleaved'] }, calls),
      shape({ toolQuirk: ['whole-call'] }, calls),
      shape({}, { ...calls, choices: 2 }),
      shape({ jsonSpaces: true }, calls),
      shape({ jsonSpaces: true }, json),
      shape({ continuationQuirk: 'restarts-text' }, json),
    ],
  },
  sglang: { backends: { engine: 'sglang' }, shapes: thought({ continuation: 'flag' }) },
  llamacpp: { backends: { engine: 'llamacpp' }, shapes: thought({ continuation: 'echo' }) },
  'llamacpp, counted': {
    backends: { engine: 'llamacpp', isCounted: true },
    // A piece of several tokens: only a tokenizer knows how many.
    shapes: [...thought({ continuation: 'echo', deltaTokens: 3 }), shape({ continuation: 'echo' }, calls)],
  },
  moonshot: {
    backends: { engine: 'moonshot' },
    shapes: thought({ continuation: 'partial', usage: 'cached-top-level' }),
  },
  'deepseek, counted': {
    backends: { engine: 'deepseek', isCounted: true, capabilities: { continuationMark: 'prefix' } },
    shapes: thought({ continuation: 'prefix', reasoningField: 'both-one-null', usageWhere: 'finish-chunk' }),
  },
  'ollama, counted': {
    backends: { engine: 'ollama', isCounted: true },
    shapes: [shape({ continuation: 'trailing' })],
  },
  'ollama, which counts nothing': {
    backends: { engine: 'ollama' },
    shapes: [shape({ continuation: 'trailing', usage: 'absent' })],
  },
};
