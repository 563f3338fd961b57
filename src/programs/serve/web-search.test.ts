import { expect, it } from 'vitest';
import { readSettings } from '../../process/settings/read-settings.ts';
import { sealFiles } from './web-search.ts';

const files = (environment: Readonly<Record<string, string>>) => sealFiles(readSettings(environment));
const search = { WEIR_WEB_SEARCH: 'searxng:http://localhost:8888' };

it('are none where nothing is searched and no keys are named', () => {
  expect(files({})).toBeUndefined();
});

it('are the deployment’s own, in the data folder, where one replica searches', () => {
  expect(files({ ...search, WEIR_DATA: '/data' })).toEqual({ keyFile: undefined, ownFile: '/data/seal.key' });
});

it('are the ones that are named, also to read what was found before the search was turned off', () => {
  expect(files({ WEIR_SEAL_KEY_FILE: '/keys' })).toMatchObject({ keyFile: '/keys' });
});

it('are the deployment’s own where one replica seals reasoning', () => {
  expect(files({ WEIR_RESPONSES: 'stateless', WEIR_DATA: '/data' })).toEqual({
    keyFile: undefined,
    ownFile: '/data/seal.key',
  });
});

it.each([
  ['a shared database', { WEIR_DATABASE_URL: 'postgres://localhost/weir' }],
  ['Valkey', { WEIR_VALKEY_URL: 'valkey://localhost' }],
])('have to be named where replicas share %s', (_, environment) => {
  for (const use of [search, { WEIR_RESPONSES: 'stateless' }])
    expect(() => files({ ...use, ...environment })).toThrow(
      /^WEIR_SEAL_KEY_FILE: needed for web search and for WEIR_RESPONSES/,
    );
  expect(files({ ...search, ...environment, WEIR_SEAL_KEY_FILE: '/keys' })).toMatchObject({ keyFile: '/keys' });
  expect(files(environment)).toBeUndefined();
});
