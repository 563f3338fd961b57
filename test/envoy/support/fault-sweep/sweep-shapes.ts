import type { BehaviourInput } from '../../../programmable-engine/behaviour.ts';
import type { EngineName } from '../../../../src/core/engine-name.ts';
import type { Counting } from './sweep-expectation.ts';

/** A kind of answer that is broken everywhere. */
export interface SweepShape {
  readonly name: string;
  /** Fields of the request besides model, messages and streaming. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** How both engines answer it, before any fault. The same cached tokens each time, so that the cost is the same. */
  readonly behaviour: BehaviourInput;
  /** What the spare engine does otherwise. */
  readonly spare?: BehaviourInput;
  /** Of the engines, as the catalog has it; `vllm` unless told. */
  readonly kind?: EngineName;
  readonly capabilities?: Readonly<Record<string, unknown>>;
  /** The model has a tokenizer, which counts as the engines do. */
  readonly tokenizer?: true;
  /** JSON may have other white space than the unbroken one. */
  readonly looseJson?: true;
  /** How exactly the tokens of a broken answer can be known: `exact` unless told. */
  readonly counting?: Counting;
}

const tool = (name: string, field: string): object => ({
  type: 'function',
  function: {
    name,
    parameters: { type: 'object', properties: { [field]: { type: 'string' } }, required: [field] },
  },
});

const person = {
  type: 'object',
  properties: { name: { type: 'string' }, nicks: { type: 'array', items: { type: 'string' }, minItems: 2 } },
  required: ['name', 'nicks'],
};

/** Without reasoning. */
export const off = { reasoning_effort: 'none' };
export const tools = {
  ...off,
  tools: [tool('get_weather', 'city'), tool('get_time', 'place')],
  tool_choice: 'required',
};
export const bothTools: BehaviourInput = { callTools: ['get_weather', 'get_time'], cachedTokens: 3 };
export const json = {
  ...off,
  response_format: { type: 'json_schema', json_schema: { name: 'person', schema: person, strict: true } },
};
export const short: BehaviourInput = { words: 14, reasoningWords: 9, cachedTokens: 3 };

/** The answers of the sweep proper. All are short: what counts is that they break everywhere. */
export const sweepShapes = {
  text: { name: 'text', fields: off, behaviour: short },
  reasoning: { name: 'reasoning', fields: {}, behaviour: { ...short, words: 9 } },
  tools: { name: 'tools', fields: tools, behaviour: bothTools },
  spokenTools: { name: 'tools-after-text', fields: tools, behaviour: { ...bothTools, toolPreamble: true } },
  json: { name: 'json', fields: json, behaviour: { cachedTokens: 3 } },
  choices: {
    name: 'choices',
    fields: { ...off, n: 2 },
    // They differ from their first word on, so that a partial answer says which of them it belongs to; and they have as
    // many tokens, for where nothing tells, either will do.
    behaviour: {
      contents: ['Down the river it goes, past the mill.', 'Upstream, nothing moved at all, that year.'],
      cachedTokens: 3,
    },
  },
} as const satisfies Readonly<Record<string, SweepShape>>;
