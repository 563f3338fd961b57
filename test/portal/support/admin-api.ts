import { inject } from 'vitest';

/** Asks the admin API of the shared gateway with its admin token. Throws for an answer that is no success. */
export async function adminApi<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  const { portal, token } = inject('gateway');
  const answer = await fetch(`${portal}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    body: body === undefined ? null : JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  const text = await answer.text();
  return JSON.parse(text === '' ? 'null' : text) as Answer;
}
