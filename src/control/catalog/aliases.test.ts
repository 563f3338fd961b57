import { describe, expect, it } from 'vitest';
import { backend, model } from '../../../test/support/catalog-objects.ts';
import { type CatalogObject, modelNamed } from '../../core/catalog.ts';
import { compile } from './compile.ts';

const engine = backend('vllm-a');

function aliased(name: string, aliases: readonly string[], created?: string): CatalogObject {
  const object = model(name, { id: `test/${name}`, aliases });
  if (created === undefined) return object;
  const value = object.value as { readonly metadata: object };
  return { ...object, value: { ...value, metadata: { ...value.metadata, creationTimestamp: created } } };
}

function namesOf(objects: readonly CatalogObject[], previous?: readonly CatalogObject[]) {
  const before = previous && compile([engine, ...previous]).snapshot;
  const { snapshot, problems } = compile([engine, ...objects], { previous: before });
  return { names: Object.fromEntries(snapshot.aliases), ids: [...snapshot.models.keys()], problems, snapshot };
}

const taken = (where: string, index: number, message: string) => ({
  where,
  field: `spec.aliases[${index}]`,
  message: `expected a name of its own, ${message}`,
});

describe('aliases', () => {
  it('name their model, and are no ids', () => {
    const { names, ids, problems, snapshot } = namesOf([
      aliased('a', ['gpt-4o', 'old-org/old-name', 'hf.co/org/name:q4_k_m']),
      aliased('b', []),
    ]);
    expect({ names, ids, problems }).toEqual({
      names: { 'gpt-4o': 'test/a', 'old-org/old-name': 'test/a', 'hf.co/org/name:q4_k_m': 'test/a' },
      ids: ['test/a', 'test/b'],
      problems: [],
    });
    expect(['test/a', 'gpt-4o', 'GPT-4o', ''].map((name) => modelNamed(snapshot, name)?.id)).toEqual([
      ...['test/a', 'test/a'],
      ...[undefined, undefined],
    ]);
  });

  it('belong to the object that was created first; the later one serves under its id', () => {
    const [young, old] = ['2026-02-01T00:00:00Z', '2026-01-01T00:00:00Z'];
    const objects = [aliased('young', ['gpt-4o', 'mine'], young), aliased('old', ['gpt-4o'], old)];
    for (const order of [objects, objects.toReversed()]) {
      const { names, ids, problems } = namesOf(order);
      expect({ names, ids }).toEqual({
        names: { 'gpt-4o': 'test/old', mine: 'test/young' },
        ids: ['test/old', 'test/young'],
      });
      expect(problems).toEqual([taken('Model/young', 0, '"gpt-4o" is already an alias of Model/old')]);
    }
  });

  it('belong to the first in order where no times are known', () => {
    const { names, problems } = namesOf([aliased('b', ['gpt-4o']), aliased('a', ['gpt-4o'])]);
    expect(names).toEqual({ 'gpt-4o': 'test/b' });
    const message = '"gpt-4o" is already an alias of Model/b, which counts because its file name and line come first';
    expect(problems).toEqual([taken('Model/a', 0, message)]);
  });

  it('never take a model out of the catalog: an id wins, whichever object is older', () => {
    const young = aliased('young', [], '2026-02-01T00:00:00Z');
    const old = aliased('old', ['test/young'], '2026-01-01T00:00:00Z');
    const { names, ids, problems } = namesOf([old, young]);
    expect({ names, ids }).toEqual({ names: {}, ids: ['test/old', 'test/young'] });
    expect(problems).toEqual([taken('Model/old', 0, '"test/young" is the id of Model/young')]);
    // Once that model has left, its callers are served by the one that has its name as an alias.
    expect(namesOf([old])).toMatchObject({ names: { 'test/young': 'test/old' }, problems: [] });
  });

  it('cannot be the id of a valid Model whose backends are missing', () => {
    const waiting = model('waiting', { id: 'test/waiting', routes: [{ backend: 'none', upstreamModel: 'q' }] });
    expect(namesOf([aliased('a', ['test/waiting']), waiting]).names).toEqual({});
  });

  it('stay those of the last good version of a Model that has turned bad', () => {
    const bad = model('a', { id: 'test/a', aliases: ['gpt-4o', 'UPPER'] });
    expect(namesOf([bad], [aliased('a', ['gpt-4o'])]).names).toEqual({ 'gpt-4o': 'test/a' });
    expect(namesOf([bad]).names).toEqual({});
    // The fault of the newest version is reported, and none of the version that is kept.
    const both = [aliased('b', ['gpt-4o']), bad];
    expect(namesOf(both, [aliased('a', ['gpt-4o'])]).problems.map(({ field }) => field)).toEqual(['spec.aliases[1]']);
  });

  it('change the version', () => {
    const versions = [[], ['x'], ['y']].map((aliases) => namesOf([aliased('a', aliases)]).snapshot.version);
    const moved = [
      [aliased('a', ['x']), aliased('b', ['x'])],
      [aliased('b', ['x']), aliased('a', ['x'])],
    ].map((objects) => namesOf(objects).snapshot.version);
    expect(new Set([...versions, ...moved]).size).toBe(5);
  });

  it.each<readonly [string, readonly unknown[], string, string]>([
    ['in capitals', ['GPT-4o'], 'spec.aliases[0]', 'expected a lowercase name'],
    ['with a blank', ['a b'], 'spec.aliases[0]', 'expected a lowercase name'],
    ['of two tags', ['a:b:c'], 'spec.aliases[0]', 'expected a lowercase name'],
    ['of nothing', [''], 'spec.aliases[0]', 'expected a lowercase name'],
    ['that is too long', ['a'.repeat(129)], 'spec.aliases[0]', 'expected at most 128'],
    ['that is a variant', ['a', 'b:free'], 'spec.aliases', 'expected no alias that ends in'],
    ['that stands there twice', ['a', 'a'], 'spec.aliases', 'expected each alias once'],
    ['that is its own id', ['test/a'], 'spec.aliases', 'expected other names than the id'],
    ['that is one of too many', Array.from({ length: 17 }, (_, at) => `a${at}`), 'spec.aliases', 'expected at most 16'],
  ])('are refused: one %s', (_, aliases, field, message) => {
    const { problems } = namesOf([model('a', { id: 'test/a', aliases })]);
    expect(problems).toEqual([{ where: 'Model/a', field, message: expect.stringContaining(message) as string }]);
  });
});
