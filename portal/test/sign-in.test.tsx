import { screen } from '@testing-library/react';
import { describe, expect, test } from 'vitest';
import { SignInPage } from '../src/shell/sign-in.tsx';
import { adminSession } from './support/objects.ts';
import { type Answer, answerWith, changesIn, json, refusal } from './support/portal.ts';
import { show } from './support/show.tsx';

const provider = { name: 'Example accounts', url: '/api/v1/oidc/sign-in' };

function showSignIn(oidc: typeof provider | null, session: Answer = refusal(401, 'This is neither token nor key.')) {
  const sent = answerWith({
    'GET /sign-in': json({ token: true, key: true, oidc }),
    'POST /session': session,
  });
  const signedIn: unknown[] = [];
  const reader = show(<SignInPage failed={undefined} onSignedIn={(one) => signedIn.push(one)} />);
  return { reader, sent, signedIn };
}

describe('with a provider', () => {
  test('its name is on the button, and the token is behind other ways', async () => {
    const { reader } = showSignIn(provider);
    const link = await screen.findByRole('link', { name: 'Sign in with Example accounts' });
    expect(link).toHaveAttribute('href', '/api/v1/oidc/sign-in');
    expect(screen.getByLabelText('Admin token or API key')).not.toBeVisible();
    await reader.click(screen.getByText('Other ways'));
    expect(screen.getByLabelText('Admin token or API key')).toBeVisible();
  });

  test('a wrong token stays in view with its error', async () => {
    const { reader } = showSignIn(provider);
    await reader.click(await screen.findByText('Other ways'));
    await reader.type(screen.getByLabelText('Admin token or API key'), 'wrong{Enter}');
    expect(await screen.findByText('This is neither token nor key.')).toBeVisible();
  });
});

test('without a provider the token is asked for at once, and nothing is said about how the portal was started', async () => {
  const { reader, sent, signedIn } = showSignIn(null, json(adminSession));
  expect(await screen.findByLabelText('Admin token or API key')).toBeVisible();
  expect(screen.queryByText('Other ways')).toBeNull();
  expect(document.body).not.toHaveTextContent(/npm/);
  await reader.type(screen.getByLabelText('Admin token or API key'), 'sk-weir-key{Enter}');
  await expect.poll(() => signedIn).toEqual([adminSession]);
  expect(changesIn(sent)).toEqual([{ call: 'POST /session', body: { key: 'sk-weir-key' } }]);
});
