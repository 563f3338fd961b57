import { describe, expect, it } from 'vitest';
import { servedSurfaces } from '../../core/api-paths.ts';
import { operationOf } from './operation.ts';

const off = { surfaces: servedSurfaces({ WEIR_RESPONSES: 'off' }) };
const on = { surfaces: servedSurfaces({ WEIR_RESPONSES: 'stateless' }) };
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
});
