import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { numberedStory, sampleStory } from '../../../test/support/sample-story.ts';
import { type LiveCatalog, liveCatalogSchema } from '../../control/core/live-catalog.ts';
import { numberedStorySchema, storyPageSchema, storySchema } from './story.ts';

/** Paths of the fields that may hold any text: those without a list of values or a format. */
function freeTexts(schema: unknown, path = ''): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { type, properties, items, anyOf, ...rest } = schema as Readonly<Record<string, unknown>>;
  if (type === 'string' && !('enum' in rest) && !('format' in rest)) return [path];
  return [
    ...Object.entries(properties ?? {}).flatMap(([name, field]) => freeTexts(field, `${path}.${name}`)),
    ...freeTexts(items, `${path}[]`),
    ...((anyOf ?? []) as readonly unknown[]).flatMap((one) => freeTexts(one, path)),
  ];
}

const plain = { reused: 'inline', target: 'openapi-3.0' } as const;

describe('a story', () => {
  it('has free text only where the gateway, its catalog or its operator made it', () => {
    const json = z.toJSONSchema(z.object({ story: numberedStorySchema }), { ...plain, metadata: z.registry() });
    expect(freeTexts(json).map((path) => path.slice('.story'.length))).toEqual([
      '.id',
      '.correlation_id',
      '.workspace',
      '.key',
      '.model',
      '.failure.about[]',
      '.failure.reached[].tag',
      '.failure.reached[].limit',
      '.failure.reached[].spent',
      '.route',
      '.plan.routes[].route',
      '.plan.left_out[].route',
      '.plan.left_out[].lacks[]',
      '.attempts[].route',
      '.attempts[].backend',
      '.attempts[].endpoint',
      '.attempts[].fault.about',
      '.attempts[].fault.envoy_flags',
      '.attempts[].fault.said',
      '.searches[].provider',
      '.bill.cost',
      ...['id', 'correlation_id', 'workspace', 'key', 'model', 'route', 'cost'].map((name) => `.settled.${name}`),
      ...['tags', 'fault', 'failure', 'attempt_log'].map((name) => `.settled.${name}`),
    ]);
  });

  it('is read as it is written, with its number and without', () => {
    const refused = sampleStory({ outcome: 'refused', plan: null, attempts: [], bill: null, workspace: null });
    for (const story of [sampleStory(), refused]) expect(storySchema.parse(story)).toEqual(story);
    expect(numberedStorySchema.parse(numberedStory(3))).toEqual(numberedStory(3));
  });

  it('comes in pages of which one bad entry spoils no other', () => {
    const page = { process: 'a', next_after: 2, has_more: false, missed: 0, requests: [{ seq: 1 }, 'x'] };
    expect(storyPageSchema.parse(page).requests).toHaveLength(2);
  });
});

describe('the live catalog', () => {
  it('may be empty', () => {
    const nothing: LiveCatalog = {
      ...{ process: 'a', taken_at: '2026-07-01T12:00:00.000Z', ready: false },
      ...{ models: [], backends: [], problems: [] },
    };
    expect(liveCatalogSchema.parse(nothing)).toEqual(nothing);
  });

  it('can be described as JSON Schema, for the document of the API', () => {
    const json = z.toJSONSchema(liveCatalogSchema, plain);
    expect(JSON.stringify(json)).toContain('"conditions"');
  });
});
