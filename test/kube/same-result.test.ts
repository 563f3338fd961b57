// @suite long
import { Agent } from 'node:https';
import fc from 'fast-check';
import { afterAll, describe, expect, inject, test } from 'vitest';
import type * as z from 'zod';
import { checkObject, readObject } from '../../src/control/catalog/read-object.ts';
import { openApiSchema } from '../../scripts/custom-resources/custom-resources.ts';
import { backendSpec } from '../../src/control/catalog/resources/backend.ts';
import { modelSpec } from '../../src/control/catalog/resources/model.ts';
import { goodBackendSpec, goodModelSpec } from '../support/catalog-objects.ts';
import {
  fullBackendSpec,
  embeddingModelSpec,
  fullModelSpec,
  listBackendSpec,
  poolBackendSpec,
  rerankModelSpec,
  serviceBackendSpec,
} from './support/full-specs.ts';
import { kubeRequest } from './support/request.ts';
import { places, put, type Variant, variants } from './support/tricky-values.ts';

// A manifest folder and a cluster must take the same objects: what was tried on one must not be refused by the other.
// Every object here is validated by both, and where both take it, both fill in the same defaults, except in lists.

const kubernetes = inject('kubernetes');
const agent = new Agent({ keepAlive: true });
afterAll(() => agent.destroy());

interface Kind {
  readonly kind: string;
  readonly plural: string;
  readonly schema: z.ZodType;
  /** Rules over several fields show where little is said, bounds where much is. */
  readonly specs: readonly object[];
  /** Their own fields are varied, and every other field as a whole: what is within those, the others show. */
  readonly further: readonly object[];
}

const kinds: readonly Kind[] = [
  {
    ...{ kind: 'Backend', plural: 'backends', schema: backendSpec },
    specs: [goodBackendSpec, fullBackendSpec],
    further: [listBackendSpec, serviceBackendSpec, poolBackendSpec],
  },
  {
    kind: 'Model',
    plural: 'models',
    schema: modelSpec,
    specs: [goodModelSpec, fullModelSpec, embeddingModelSpec, rerankModelSpec],
    further: [],
  },
];

type Validation =
  | { readonly accepted: true; readonly spec: unknown }
  | { readonly accepted: false; readonly why: string };

async function validatedByServer(plural: string, object: unknown): Promise<Validation> {
  const path = `/apis/weir.dev/v1alpha1/namespaces/default/${plural}?dryRun=All&fieldValidation=Strict`;
  const { status, body } = await kubeRequest(kubernetes, 'POST', path, { body: object, agent });
  const { spec, message } = body as { readonly spec?: unknown; readonly message?: string };
  if (status === 201) return { accepted: true, spec };
  if (status !== 422 && status !== 400) throw new Error(`unexpected answer ${status}: ${JSON.stringify(body)}`);
  return { accepted: false, why: String(message) };
}

function validatedByUs(object: unknown): Validation {
  const read = readObject({ where: 'x', value: object });
  const problems = checkObject({ where: 'x', value: object });
  if (read.kind === 'bad' || problems.length > 0) return { accepted: false, why: JSON.stringify(problems) };
  return { accepted: true, spec: 'spec' in read.read.value ? read.read.value.spec : undefined };
}

/** What the two disagree about, or nothing. */
async function disagreement(
  kind: string,
  plural: string,
  { about, spec }: Omit<Variant, 'path'>,
): Promise<string | undefined> {
  const object = { apiVersion: 'weir.dev/v1alpha1', kind, metadata: { name: 'x' }, spec };
  const ours = validatedByUs(object);
  const theirs = await validatedByServer(plural, object);
  if (ours.accepted !== theirs.accepted) {
    const why = ours.accepted ? (theirs.accepted ? '' : theirs.why) : ours.why;
    return `${about}: ${ours.accepted ? 'accepted' : 'refused'} by us, ${theirs.accepted ? 'accepted' : 'refused'} by the API server: ${why}`;
  }
  if (!ours.accepted || !theirs.accepted) return undefined;
  const reread = validatedByUs({ ...object, spec: theirs.spec });
  const stored = listsFrom(theirs.spec, reread.accepted ? reread.spec : undefined);
  const [one, other] = [ours.spec, stored].map((value) => JSON.stringify(sorted(value)));
  return one === other ? undefined : `${about}: read as ${one} by us, as ${other} by the API server`;
}

/** A value with the lists of another one: the API server has no defaults in lists, which are applied when an object is read. */
function listsFrom(value: unknown, other: unknown): unknown {
  if (Array.isArray(value)) return other;
  if (typeof value !== 'object' || value === null || typeof other !== 'object' || other === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [name, listsFrom(entry, Reflect.get(other, name))]),
  );
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, entry]) => entry !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, entry]) => [name, sorted(entry)]),
  );
}

/** Several at a time; the API server is the slower of the two. */
async function disagreements(
  kind: string,
  plural: string,
  all: Iterable<Omit<Variant, 'path'>>,
): Promise<readonly string[]> {
  const found: string[] = [];
  const rest = all[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) {
      const one = await disagreement(kind, plural, next.value);
      if (one !== undefined) found.push(one);
    }
  };
  await Promise.all(Array.from({ length: 4 }, worker));
  return found;
}

describe.each(kinds)('$kind', ({ kind, plural, schema, specs, further }) => {
  test('is accepted when little and when everything is said', async () => {
    for (const spec of [...specs, ...further]) {
      const object = { apiVersion: 'weir.dev/v1alpha1', kind, metadata: { name: 'x' }, spec };
      expect([validatedByUs(object), await validatedByServer(plural, object)]).toMatchObject([
        { accepted: true },
        { accepted: true },
      ]);
    }
  });

  test('is validated alike with every tricky value in every field', { timeout: 300_000 }, async () => {
    const openApi = openApiSchema(schema);
    const own = (spec: object): readonly Variant[] =>
      [...variants(openApi, spec)].filter(
        ({ path: [name = ''], path }) => path.length === 1 || Object.hasOwn(spec, name),
      );
    const all = [...specs.flatMap((spec) => [...variants(openApi, spec)]), ...further.flatMap(own)];
    console.log(`${all.length} variants of a ${kind}`);
    expect(all.length).toBeGreaterThan(2000);
    expect(await disagreements(kind, plural, all)).toEqual([]);
  });

  test('is validated alike with several of them at once', { timeout: 300_000 }, async () => {
    const openApi = openApiSchema(schema);
    const full = specs.at(-1);
    const single = [...variants(openApi, full)];
    const paths = [...places(openApi, full, [])].map(([path]) => path);
    const change = fc.record({ path: fc.constantFrom(...paths), from: fc.constantFrom(...single) });
    const several = fc.array(change, { minLength: 2, maxLength: 4 }).map((changes): Omit<Variant, 'path'> => {
      const spec = changes.reduce<unknown>((made, { path, from }) => put(made, path, valueAt(from.spec, path)), full);
      return { about: JSON.stringify(spec), spec };
    });
    expect(await disagreements(kind, plural, fc.sample(several, { numRuns: 300, seed: 7 }))).toEqual([]);
  });
});

function valueAt(spec: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (value, name) => (value as Readonly<Record<string | number, unknown>> | null | undefined)?.[name],
    spec,
  );
}
