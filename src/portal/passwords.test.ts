import { argon2Sync } from 'node:crypto';
import { expect, it } from 'vitest';
import { createPasswords } from './passwords.ts';

const right = 'correct horse battery';

it('a hash is Argon2id in the PHC format with a salt of its own, and tells its password from others', async () => {
  const { hash, isRight } = createPasswords();
  const [one, other] = [await hash(right), await hash(right)];
  expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  expect(one).not.toBe(other);
  expect(await Promise.all([right, `${right}x`, ''].map((given) => isRight(given, one)))).toEqual([true, false, false]);
});

it('a hash with another cost is read, so the cost can rise, and a hash of another kind is an error', async () => {
  const nonce = Buffer.from('somesalt12345678');
  const cost = { memory: 256, passes: 1, parallelism: 1, tagLength: 32 };
  const tag = argon2Sync('argon2id', { message: right, nonce, ...cost });
  const bare = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');
  const cheap = `$argon2id$v=19$m=256,t=1,p=1$${bare(nonce)}$${bare(tag)}`;
  const { isRight } = createPasswords();
  expect([await isRight(right, cheap), await isRight(`${right}x`, cheap)]).toEqual([true, false]);
  await expect(isRight(right, '$2b$10$another')).rejects.toThrow('another form');
});

it('a password that is written in another form of Unicode is the same one', async () => {
  const { hash, isRight } = createPasswords();
  expect(await isRight('cafe\u0301 au lait, please', await hash('caf\u00e9 au lait, please'))).toBe(true);
});

it('without a hash none is right, not even after the same work', async () => {
  expect(await createPasswords().isRight(right, undefined)).toBe(false);
});

it.each(['short', 'x'.repeat(201)])('%s is refused as a password', async (password) => {
  await expect(createPasswords().hash(password)).rejects.toMatchObject({
    code: 'password_malformed',
    field: 'password',
  });
});

it('two are hashed at a time, 32 wait, and more are refused', async () => {
  const { isRight } = createPasswords();
  const ends = await Promise.allSettled(Array.from({ length: 36 }, () => isRight(right, undefined)));
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(34);
  expect(ends.slice(34)).toMatchObject([
    { status: 'rejected', reason: { code: 'passwords_busy' } },
    { status: 'rejected', reason: { code: 'passwords_busy' } },
  ]);
  expect(await isRight(right, undefined)).toBe(false);
});
