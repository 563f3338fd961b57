import { describe, expect, it } from 'vitest';
import { servedSurfaces } from '../../core/api-paths.ts';
import type { Model, ModelKind, Snapshot } from '../../core/catalog.ts';
import { operationOf } from './operation.ts';

const snapshotOf = (...kinds: readonly ModelKind[]): Snapshot => {
  const models = new Map(kinds.map((kind) => [kind, { kind } as Model]));
  return { version: '1', models, aliases: new Map(), clusters: [] };
};
const snapshots = { current: () => snapshotOf('chat') };
const off = { surfaces: servedSurfaces({ WEIR_RESPONSES: 'off' }), snapshots };
const on = { surfaces: servedSurfaces({ WEIR_RESPONSES: 'stateless' }), snapshots };
const post = (path: string, served = on) => {
  const { kind, dialect } = operationOf({ method: 'POST', path }, served);
  return [kind, dialect.surface];
};

describe('the operation of a request', () => {
  it.each([
    ['/v1/chat/completions', 'chat'],
    ['/v1/messages?beta=true', 'messages'],
    ['/v1/responses', 'responses'],
  ])('is an answer at %s', (path, surface) => {
    expect(post(path)).toEqual(['answer', surface]);
    expect(operationOf({ method: 'GET', path }, on).kind).toBe('unknown');
  });

  it('is unknown below the paths of the surfaces, in the format of the clients that ask there', () => {
    expect(post('/v1/messages/count_tokens')).toEqual(['unknown', 'messages']);
    expect(post('/v1/responses/compact')).toEqual(['unknown', 'chat']);
    expect(post('/v1/responses/resp_1/cancel')).toEqual(['unknown', 'chat']);
  });

  it('is unknown for a surface that is not served, as for any other path', () => {
    expect(post('/v1/responses', off)).toEqual(post('/v1/anything', off));
    expect(post('/v1/chat/completions', off)).toEqual(['answer', 'chat']);
  });

  it('is embeddings only while the catalog has a model of that kind', () => {
    expect(post('/v1/embeddings')).toEqual(['unserved', 'embeddings']);
    const withEmbedding = { ...off, snapshots: { current: () => snapshotOf('chat', 'embedding') } };
    expect(post('/v1/embeddings', withEmbedding)).toEqual(['answer', 'embeddings']);
    expect(operationOf({ method: 'GET', path: '/v1/embeddings' }, withEmbedding).kind).toBe('unknown');
  });

  it.each(['/v1/rerank', '/v2/rerank'])('is rerank at %s only while the catalog has a model of that kind', (path) => {
    expect(post(path)).toEqual(['unserved', 'rerank']);
    const withRerank = { ...off, snapshots: { current: () => snapshotOf('chat', 'rerank') } };
    expect(post(path, withRerank)).toEqual(['answer', 'rerank']);
    expect(post('/v1/embeddings', withRerank)).toEqual(['unserved', 'embeddings']);
  });
});
