import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/sample-database.ts';
import { isSameSecret } from '../core/internal-token.ts';
import { newToken, readAdminToken } from './secrets.ts';

describe('the admin token', () => {
  it('is made once, for its owner alone, and read from then on', () => {
    const folder = temporaryFolder();
    const file = join(folder, 'admin-token');
    const made = readAdminToken(file, 'make');
    expect(made).toMatch(/^[\w-]{32}$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toBe(`${made}\n`);
    chmodSync(file, 0o644);
    expect(readAdminToken(file, 'make')).toBe(made);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['admin-token']);
  });

  it('is refused by the name of its file where it is missing or could be guessed, and never shown', () => {
    const file = join(temporaryFolder(), 'token');
    expect(() => readAdminToken(file, 'refuse')).toThrow(file);
    for (const bad of ['', 'hunter2', 'a'.repeat(31), `${'a'.repeat(31)} b`]) {
      writeFileSync(file, bad);
      expect(() => readAdminToken(file, 'refuse')).toThrow(`${file}: expected an admin token of at least 32`);
      if (bad !== '') expect(() => readAdminToken(file, 'refuse')).not.toThrow(bad);
    }
    expect(() => readAdminToken('/nowhere/token', 'make')).toThrow('cannot create the admin token');
  });

  it('is compared as a whole', () => {
    const token = newToken();
    expect(isSameSecret(token, token)).toBe(true);
    for (const other of ['', token.slice(1), `${token}x`, newToken()]) expect(isSameSecret(token, other)).toBe(false);
  });
});
