import { expect, it } from 'vitest';
import { backend, model, secret } from '../../test/support/catalog-objects.ts';
import { compile } from './compile.ts';
import { keepObjects } from './keep-objects.ts';

const withToken = { credentials: { secretRef: { name: 'token', key: 'key' } } };
const token = secret('token', { data: { key: btoa('first') } });

it('keeps what is good, and nothing of what never was', () => {
  const good = [token, backend('vllm-a', withToken), model('a')];
  const bad = model('b', { id: 'a/b', contextLength: 0 });
  expect(keepObjects(compile([...good, bad]).verdicts, [])).toEqual(good);
});

it('keeps what turned bad as it last was good, with the Secret that it needs', () => {
  const before = [token, backend('vllm-a', withToken), model('a')];
  const previous = compile(before).snapshot;
  const other = { credentials: { secretRef: { name: 'gone', key: 'key' } } };
  const { verdicts, snapshot } = compile([backend('vllm-a', other), model('a')], previous);
  const kept = keepObjects(verdicts, before);
  expect(new Set(kept.map(({ where }) => where))).toEqual(new Set(['Secret/token', 'Backend/vllm-a', 'Model/a']));
  // A start without the source serves just what is served now.
  expect(compile(kept).snapshot.version).toBe(snapshot.version);
});

it('lets go of what is gone', () => {
  const before = [token, backend('vllm-a', withToken), model('a')];
  expect(keepObjects(compile([backend('vllm-a')]).verdicts, before)).toEqual([backend('vllm-a')]);
});
