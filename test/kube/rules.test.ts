import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { checkObject } from '../../src/control/catalog/read-object.ts';
import { customResources, openApiSchema, type OpenApiSchema } from '../../scripts/custom-resources/custom-resources.ts';
import { makeNamespace } from './support/cluster.ts';
import { kubectl } from './support/kubectl.ts';

// One file per rule: what kubectl is given, and in its first line what it must be told. In a file with two documents the
// first is taken, and the second is a change of it.

const kubernetes = inject('kubernetes');
const folder = join(import.meta.dirname, 'rules');

const cases = readdirSync(folder).map((name) => {
  const text = readFileSync(join(folder, name), 'utf8');
  const refused = /^# refused: (.*)\n/.exec(text)?.[1];
  if (refused === undefined) throw new Error(`${name} does not begin with "# refused: …"`);
  return { name, text, refused };
});

const namespace = await makeNamespace(kubernetes);

const apply = (text: string): ReturnType<typeof kubectl> =>
  kubectl(kubernetes, ['apply', '-n', namespace, '-f', '-'], text);

test.each(cases)('kubectl is told why: $name', async ({ name, text, refused }) => {
  const documents = text.split(/^---\n/m);
  const last = documents.pop() ?? '';
  // A name of its own: the change of one object must not meet another.
  const named = (document: string): string => document.replace('name: refused', `name: ${name.replace('.yaml', '')}`);
  for (const document of documents) expect(await apply(named(document))).toMatchObject({ code: 0, stderr: '' });
  const { code, stderr } = await apply(named(last));
  expect(stderr).toContain(refused);
  expect(code).toBe(1);
});

test.each(cases.filter(({ text }) => !text.includes('\n---\n')))(
  'a manifest folder refuses the same, naming the same field: $name',
  ({ text, refused }) => {
    // YAML 1.1, as kubectl reads it.
    const [document] = parseAllDocuments(text, { version: '1.1' });
    const fields = checkObject({ where: 'x', value: document?.toJS() }).map(({ field }) => field);
    const field = /\bspec[\w.[\]]*/.exec(refused)?.[0] ?? 'none';
    // Of a list that is merged by a key the API server names the entry, we the key.
    expect([field, `${field}.backend`]).toContain(fields.find((one) => one.startsWith(field)));
  },
);

describe.each(customResources)('$kind', ({ spec }) => {
  /** Every rule in the schema, by its message. */
  function* messages(schema: OpenApiSchema): Generator<string> {
    for (const { message } of (schema['x-kubernetes-validations'] ?? []) as readonly { readonly message: string }[]) {
      yield message;
    }
    for (const part of [...Object.values(schema.properties ?? {}), ...(schema.items ? [schema.items] : [])]) {
      yield* messages(part);
    }
  }

  // For moments the API server stops at the format, before it comes to the rule.
  const byFormat = /^expected a date and time/;

  test.each([...new Set(messages(openApiSchema(spec)))].filter((message) => !byFormat.test(message)))(
    'has a file that breaks the rule "%s"',
    (message) => {
      expect(cases.filter(({ refused }) => refused.endsWith(message))).not.toEqual([]);
    },
  );
});
