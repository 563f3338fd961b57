import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { asFailure, errorBody, Failure, type FailureCode, failures } from './failure.ts';

const page = readFileSync(new URL('../../docs/reference/errors.md', import.meta.url), 'utf8');
const documented = [...page.matchAll(/^\| `(\w+)` \| (\d{3}) \| `(\w+)` \| (yes|no) \| (.+) \|$/gm)].map(
  ([, code, status, type, shown, meaning]) => ({ code, status: Number(status), type, shown: shown === 'yes', meaning }),
);
const codes = Object.keys(failures) as FailureCode[];

describe('the table of failures', () => {
  it('is the one that docs/reference/errors.md shows, in its order', () => {
    expect(documented.map(({ meaning: _, ...row }) => row)).toEqual(
      codes.map((code) => ({
        code,
        status: failures[code].status,
        type: failures[code].type,
        shown: failures[code].shown,
      })),
    );
    for (const { meaning } of documented) expect(meaning).toMatch(/\.$/);
  });

  it('never answers 500 or 504 (docs/reference/api.md §7.1)', () => {
    expect(codes.map((code) => failures[code].status)).not.toEqual(expect.arrayContaining([500]));
    expect(codes.map((code) => failures[code].status)).not.toEqual(expect.arrayContaining([504]));
  });

  it('shows a code exactly where docs/reference/api.md §7.2 and docs/reference/api.md §7.3 name one', () => {
    const named = [
      ...['model_not_found', 'variant_not_supported', 'web_search_name_reserved', 'web_search_unavailable'],
      ...['modality_not_supported', 'context_length_exceeded', 'reasoning_not_disableable', 'tools_not_supported'],
      ...['response_format_not_supported', 'param_not_supported', 'param_combination_not_supported'],
      ...['stream_interrupted', 'upstream_incomplete'],
    ];
    expect(codes.filter((code) => failures[code].shown).toSorted()).toEqual(named.toSorted());
  });

  it.each([401, 402, 403, 429, 502, 503])('gives every %i the type service_error and no code', (status) => {
    const own = codes.filter((code) => failures[code].status === status);
    expect(own.length).toBeGreaterThan(0);
    for (const code of own)
      expect(errorBody(new Failure(code, 'x'), String)).toEqual({ message: 'x', type: 'service_error' });
  });

  it('gives every 400 the type invalid_request_error', () => {
    for (const code of codes.filter((each) => failures[each].status === 400))
      expect(failures[code].type).toBe('invalid_request_error');
  });
});

describe('a failure', () => {
  it('shows its message and, where the table says so, its code; never its cause', () => {
    const failure = new Failure('model_not_found', 'model: not in the catalog', { cause: new Error('secret') });
    expect(errorBody(failure, String)).toEqual({
      message: 'model: not in the catalog',
      type: 'invalid_request_error',
      code: 'model_not_found',
    });
  });

  it('begins with the caller’s own names of what it is about', () => {
    const failure = new Failure('param_not_supported', 'no route can', { about: ['stop', 'reasoning'] });
    expect(errorBody(failure, (feature) => feature.toUpperCase()).message).toBe('STOP and REASONING: no route can');
  });

  it('is what anything thrown becomes, without telling a caller what it was', () => {
    const failure = asFailure(new TypeError('the prompt was CANARY'));
    expect({ code: failure.code, cause: failure.cause }).toEqual({
      code: 'internal',
      cause: new TypeError('the prompt was CANARY'),
    });
    expect(JSON.stringify(errorBody(failure, String))).not.toContain('CANARY');
    expect(asFailure('a string').code).toBe('internal');
    expect(asFailure(failure)).toBe(failure);
  });
});

it('never makes an answer as long as what a check repeats of the request', () => {
  const { message } = errorBody(new Failure('invalid_request', 'x'.repeat(1_000_000)), String);
  expect(message).toBe(`${'x'.repeat(4096)}…`);
});
