import { describe, expect, expectTypeOf, it } from 'vitest';
import { modelOf, routeOf } from '../../../test/support/route-of.ts';
import { type EngineName, chatEngineNames } from '../../core/engine-name.ts';
import {
  asksForDefault,
  engineWord,
  type ParameterName,
  parameterNames,
  parameters,
  parametersOf,
} from '../../core/parameters.ts';
import { Failure } from '../../core/failure.ts';
import { capabilitiesOf } from '../engines/engines.ts';
import { handedOver } from '../request/prepare.ts';
import { eligibleRoutes } from '../routing/eligible.ts';
import { readRequest as readChat } from './chat/read-request.ts';
import { chatErrors } from './engine/read-error.ts';
import { writeRequest } from './engine/write-request.ts';
import { readRequest as readMessages } from './messages/read-request.ts';

const conversation = { model: 'demo/tiny', messages: [{ role: 'user', content: 'hi' }], max_tokens: 5 };
const needed: Readonly<Record<(typeof parameters)[ParameterName]['needs'], object>> = {
  nothing: {},
  logprobs: { logprobs: true },
  tools: { tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }] },
};

/** A value that a parameter accepts and that changes something. */
function sampleOf(name: ParameterName): unknown {
  const samples: readonly unknown[] = [0.5, 3, true, false, 'END', { '5': -1, '6': 1 }];
  const accepts = (value: unknown): boolean =>
    parameters[name].schema.safeParse(value).success && !asksForDefault(name, { [name]: value });
  const found = samples.find(accepts);
  if (found === undefined) throw new Error(`add a value that ${name} accepts`);
  return found;
}

/** What an engine gets of a body, or the code of the refusal when it cannot serve it. */
function sentTo(engine: EngineName, body: object): unknown {
  const route = routeOf('a');
  const model = modelOf([{ ...route, backend: { ...route.backend, engine } }]);
  const request = readChat(body);
  try {
    const [candidate] = eligibleRoutes(request, model, capabilitiesOf);
    return candidate && JSON.parse(writeRequest(request, candidate.target));
  } catch (error) {
    return error instanceof Failure ? error.code : error;
  }
}

type OptionalKey<Type> = { [Key in keyof Type]-?: object extends Pick<Type, Key> ? Key : never }[keyof Type];

it('the record of a parameter has no optional field', () => {
  expectTypeOf<OptionalKey<(typeof parameters)[ParameterName]>>().toBeNever();
});

describe.each(parameterNames)('%s', (name) => {
  const value = sampleOf(name);
  const body = { ...conversation, ...needed[parameters[name].needs], [name]: value };

  it.each(chatEngineNames)('reaches %s under its own word, is left out, or is refused', (engine) => {
    const sent = sentTo(engine, body);
    const word = engineWord(name, engine);
    if (parametersOf(engine).includes(name)) expect(sent).toHaveProperty([word], value);
    else if (parameters[name].withoutIt === 'refused') expect(sent).toBe('param_not_supported');
    else expect(sent).toEqual(sentTo(engine, conversation));
  });

  it.each(chatEngineNames)('is what an error of %s names', (engine) => {
    const about = (error: object): unknown => chatErrors.read(400, JSON.stringify({ error })).about;
    const word = engineWord(name, engine);
    expect(about({ message: 'no', param: word })).toBe(name);
    const isAnywhere = parameters[name].namedInErrors === 'anywhere';
    expect(about({ message: `the value of ${word} is refused` })).toBe(isAnywhere ? name : undefined);
  });

  it('leaves at most one entry of a large value for the thread that answers', () => {
    const { sampling } = handedOver(readChat(body));
    const isCut = parameters[name].handedOver === 'first-entry';
    expect(sampling[name]).toEqual(isCut ? { '5': -1 } : value);
  });

  it('has its own field on the messages surface where the table says so', () => {
    const { messages } = parameters[name];
    const field = messages.kind === 'field' ? messages.name : name;
    const given = field === 'stop_sequences' ? ['END'] : value;
    const { sampling } = readMessages({ ...conversation, [field]: given });
    expect(sampling).toEqual(messages.kind === 'field' ? { [name]: given } : {});
  });
});

const withDefault = parameterNames.filter((name) => parameters[name].default !== undefined);

describe.each(withDefault)('%s of the default', (name) => {
  it.each(chatEngineNames)('is not sent to %s', (engine) => {
    const plain = { ...conversation, ...needed[parameters[name].needs] };
    expect(sentTo(engine, { ...plain, [name]: parameters[name].default })).toEqual(sentTo(engine, plain));
  });
});
