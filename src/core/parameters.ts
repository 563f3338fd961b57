import { z } from 'zod';
import { recordOf } from './body-schema.ts';
import type { EngineName } from './engine-name.ts';

/**
 * The optional parameters of a request: one record each. Everything else about a parameter is derived from its record: the type
 * `Sampling`, the fields of both request bodies, how they are read, which routes can serve them, the bodies that engines get, the
 * errors of engines, the enumerations of the custom resources and the table of docs/reference/parameters.md.
 */
interface ParameterRecord<Schema extends z.ZodType, Messages> {
  /** The values that the chat surface accepts, in the range of the public wire format. Null means absent. */
  readonly schema: Schema;
  readonly messages: Messages;
  /**
   * The value that asks for the engines' default; it is not sent. `[]` and `{}` mean any empty list or object.
   * Undefined: no value asks for it.
   */
  readonly default: DefaultOf<z.output<Schema>> | undefined;
  /**
   * What happens on a route that does not support the parameter. `refused`: the caller would notice, so the route
   * cannot serve the request. `left out`: the route serves the request without it. docs/reference/endpoints.md §4.1.
   */
  readonly withoutIt: 'refused' | 'left out';
  readonly needs: Requirement;
  readonly engines: TakenBy;
  /**
   * Where an engine's error may name the parameter, by our name or the engine's. `anywhere`: in `param`, `loc` or the
   * message. `param`: only in `param` and `loc`, because the name is an ordinary word in messages.
   */
  readonly namedInErrors: 'anywhere' | 'param';
  /**
   * The part of a value that the answering thread gets if another thread has read the value. `first-entry`: the value
   * may be large, and the answering thread only needs to know whether it is empty.
   */
  readonly handedOver: HandedOver<z.output<Schema>>;
}

type DefaultOf<Value> = Value extends readonly unknown[]
  ? readonly []
  : Value extends object
    ? Readonly<Record<string, never>>
    : Value;

/** Only an object can be cut to one entry: a list would turn into an object. */
type HandedOver<Value> =
  | 'whole'
  | (Value extends readonly unknown[] ? never : Value extends object ? 'first-entry' : never);

/** The parameter on the messages surface. `read-request.ts` of that surface reads the value of a `part`. */
type MessagesForm<Value> =
  | { readonly kind: 'none' }
  | { readonly kind: 'field'; readonly name: string; readonly schema: z.ZodType<Value> }
  | { readonly kind: 'part'; readonly path: string };

/**
 * The condition under which a parameter has a meaning. Without `logprobs: true` the chat surface refuses the parameter;
 * without tools it is not sent.
 */
type Requirement = 'nothing' | 'logprobs' | 'tools';

/** Whether each engine takes a parameter; `as`: under another name. */
type TakenBy = Readonly<Record<EngineName, boolean | { readonly as: string }>>;

/** Keeps the types of the schemas, and has the compiler refuse a record that lacks a field. */
const record = <Schema extends z.ZodType, const Messages extends MessagesForm<z.output<Schema>>>(
  fields: ParameterRecord<Schema, Messages>,
): ParameterRecord<Schema, Messages> => fields;

const allEngines = (taken: boolean): TakenBy => ({
  openai: taken,
  vllm: taken,
  sglang: taken,
  llamacpp: taken,
  ollama: taken,
  tgi: taken,
  deepseek: taken,
  dashscope: taken,
  moonshot: taken,
  zai: taken,
  fireworks: taken,
  together: taken,
  // They serve no chat.
  tei: false,
  infinity: false,
});
const everyEngine = allEngines(true);
const noEngine = allEngines(false);
/** Moonshot's models have fixed sampling: its API refuses these parameters. */
const samplingEngines: TakenBy = { ...everyEngine, moonshot: false };
/** Servers of open models, which add parameters of their own to the public wire format. */
const openModelServers: TakenBy = { ...noEngine, vllm: true, sglang: true, llamacpp: true, fireworks: true };
/** Engines that take all of the public wire format. */
const wholeFormat: TakenBy = { ...openModelServers, openai: true };

const penalty = z.number().min(-2).max(2);
const share = z.number().min(0).max(1);
/** The usual values of a parameter's record. */
const usual = {
  messages: { kind: 'none' },
  default: undefined,
  needs: 'nothing',
  namedInErrors: 'anywhere',
  handedOver: 'whole',
} as const;

/** The order is that of the fields in bodies, documents and enumerations; a new parameter goes to the end. */
export const parameters = {
  temperature: record({
    ...usual,
    schema: z.number().min(0).max(2),
    messages: { kind: 'field', name: 'temperature', schema: z.number().min(0).max(2) },
    withoutIt: 'left out',
    engines: samplingEngines,
  }),
  top_p: record({
    ...usual,
    schema: share,
    messages: { kind: 'field', name: 'top_p', schema: share },
    withoutIt: 'left out',
    engines: samplingEngines,
  }),
  stop: record({
    ...usual,
    schema: z.union([z.string().min(1), z.array(z.string().min(1)).max(4)]),
    messages: { kind: 'field', name: 'stop_sequences', schema: z.array(z.string().min(1)).max(16) },
    default: [],
    withoutIt: 'refused',
    engines: everyEngine,
    namedInErrors: 'param',
  }),
  seed: record({
    ...usual,
    schema: z.int(),
    withoutIt: 'refused',
    engines: { ...wholeFormat, ollama: true, tgi: true, dashscope: true, together: true },
    namedInErrors: 'param',
  }),
  n: record({
    ...usual,
    schema: z.int().min(1).max(128),
    default: 1,
    withoutIt: 'refused',
    // llama.cpp gives one answer at a time and refuses any other value.
    engines: { ...wholeFormat, llamacpp: false, dashscope: true, together: true },
    namedInErrors: 'param',
  }),
  logprobs: record({
    ...usual,
    schema: z.boolean(),
    default: false,
    withoutIt: 'refused',
    engines: { ...wholeFormat, tgi: true, deepseek: true, dashscope: true },
  }),
  top_logprobs: record({
    ...usual,
    schema: z.int().min(0).max(20),
    withoutIt: 'refused',
    needs: 'logprobs',
    engines: { ...wholeFormat, tgi: true, deepseek: true, dashscope: true },
  }),
  logit_bias: record({
    ...usual,
    schema: recordOf(z.number().min(-100).max(100)),
    default: {},
    withoutIt: 'refused',
    engines: { ...wholeFormat, together: true },
    handedOver: 'first-entry',
  }),
  frequency_penalty: record({
    ...usual,
    schema: penalty,
    default: 0,
    withoutIt: 'refused',
    engines: { ...wholeFormat, ollama: true, tgi: true, deepseek: true, together: true },
  }),
  presence_penalty: record({
    ...usual,
    schema: penalty,
    default: 0,
    withoutIt: 'refused',
    engines: { ...wholeFormat, ollama: true, deepseek: true, dashscope: true, together: true },
  }),
  parallel_tool_calls: record({
    ...usual,
    schema: z.boolean(),
    messages: { kind: 'part', path: 'tool_choice.disable_parallel_tool_use' },
    default: true,
    withoutIt: 'refused',
    // Some engines refuse it without tools.
    needs: 'tools',
    engines: { ...wholeFormat, dashscope: true },
  }),
  top_k: record({
    ...usual,
    schema: z.int().min(-1),
    messages: { kind: 'field', name: 'top_k', schema: z.int().min(0) },
    withoutIt: 'left out',
    engines: { ...openModelServers, dashscope: true, together: true },
  }),
  min_p: record({
    ...usual,
    schema: share,
    withoutIt: 'left out',
    engines: { ...openModelServers, together: true },
  }),
  repetition_penalty: record({
    ...usual,
    schema: z.number().gt(0).max(10),
    withoutIt: 'left out',
    engines: { ...openModelServers, llamacpp: { as: 'repeat_penalty' }, dashscope: true, together: true },
  }),
  top_a: record({
    ...usual,
    schema: share,
    withoutIt: 'left out',
    // Only routes on which the operator enables it get the parameter.
    engines: noEngine,
  }),
};

/** An optional parameter, by its name on the chat surface. */
export type ParameterName = keyof typeof parameters;

// oxlint-disable-next-line typescript/consistent-type-assertions -- Object.keys forgets the key type
export const parameterNames = Object.keys(parameters) as readonly ParameterName[];

export const isParameter = (name: string): name is ParameterName => Object.hasOwn(parameters, name);

type ReadonlyValue<Value> = Value extends readonly (infer Item)[]
  ? readonly Item[]
  : Value extends object
    ? Readonly<Value>
    : Value;

/** The optional parameters that a request has, under our names. */
export type Sampling = {
  readonly [Name in ParameterName]?: ReadonlyValue<z.output<(typeof parameters)[Name]['schema']>>;
};

export const parametersOf = (engine: EngineName): readonly ParameterName[] =>
  parameterNames.filter((name) => parameters[name].engines[engine] !== false);

/**
 * The engine's name for a parameter. If the engine has none and its operator declares that it accepts the parameter,
 * our name.
 */
export function engineWord(name: ParameterName, engine: EngineName): string {
  const taken = parameters[name].engines[engine];
  return typeof taken === 'object' ? taken.as : name;
}

/** Whether the value of a parameter asks for the engines' default. */
export function asksForDefault(name: ParameterName, sampling: Sampling): boolean {
  const value = sampling[name];
  const { default: usual } = parameters[name];
  // A default list or object is an empty one.
  if (typeof usual === 'object') return typeof value === 'object' && Object.keys(value).length === 0;
  return usual !== undefined && value === usual;
}
