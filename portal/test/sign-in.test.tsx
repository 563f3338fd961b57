import { screen } from '@testing-library/react';
import { describe, expect, test } from 'vitest';
import { SignInPage } from '../src/shell/sign-in.tsx';
import { adminSession } from './support/objects.ts';
import { type Answer, answerWith, changesIn, json, refusal } from './support/portal.ts';
import { show } from './support/show.tsx';

const provider = { name: 'Example accounts', url: '/api/v1/oidc/sign-in' };

interface Shown {
  readonly oidc?: typeof provider | null;
  readonly password?: boolean;
  readonly invitation?: string;
  readonly answer?: Answer;
}

const unknown = refusal(401, 'This is neither token nor key.');

function showSignIn({ oidc = null, password = false, invitation, answer = unknown }: Shown = {}) {
  const sent = answerWith({
    'GET /sign-in': json({ token: true, key: true, password, oidc }),
    'POST /session': answer,
    'POST /invitation': answer,
  });
  const signedIn: unknown[] = [];
  const onSignedIn = (one: unknown): void => void signedIn.push(one);
  const reader = show(<SignInPage failed={undefined} invitation={invitation} onSignedIn={onSignedIn} />);
  return { reader, sent, signedIn };
}

describe('with a provider', () => {
  test('its name is on the button, and the token is behind other ways', async () => {
    const { reader } = showSignIn({ oidc: provider });
    const link = await screen.findByRole('link', { name: 'Sign in with Example accounts' });
    expect(link).toHaveAttribute('href', '/api/v1/oidc/sign-in');
    expect(screen.getByLabelText('Admin token or API key')).not.toBeVisible();
    await reader.click(screen.getByText('Other ways'));
    expect(screen.getByLabelText('Admin token or API key')).toBeVisible();
  });

  test('a wrong token stays in view with its error', async () => {
    const { reader } = showSignIn({ oidc: provider });
    await reader.click(await screen.findByText('Other ways'));
    await reader.type(screen.getByLabelText('Admin token or API key'), 'wrong{Enter}');
    expect(await screen.findByText('This is neither token nor key.')).toBeVisible();
  });
});

test('without a provider the token is asked for at once, and nothing is said about how the portal was started', async () => {
  const { reader, sent, signedIn } = showSignIn({ answer: json(adminSession) });
  expect(await screen.findByLabelText('Admin token or API key')).toBeVisible();
  expect(screen.queryByText('Other ways')).toBeNull();
  expect(document.body).not.toHaveTextContent(/npm/);
  await reader.type(screen.getByLabelText('Admin token or API key'), 'sk-weir-key{Enter}');
  await expect.poll(() => signedIn).toEqual([adminSession]);
  expect(changesIn(sent)).toEqual([{ call: 'POST /session', body: { key: 'sk-weir-key' } }]);
});

describe('a local user', () => {
  test('signs in with an address and a password, and the token is behind other ways', async () => {
    const { reader, sent, signedIn } = showSignIn({ password: true, answer: json(adminSession) });
    await reader.type(await screen.findByLabelText('E-mail address'), 'ada@example.com');
    await reader.type(screen.getByLabelText('Password'), ' correct horse {Enter}');
    await expect.poll(() => signedIn).toEqual([adminSession]);
    // Blanks are a part of a password.
    const body = { address: 'ada@example.com', password: ' correct horse ' };
    expect(changesIn(sent)).toEqual([{ call: 'POST /session', body }]);
    expect(screen.getByLabelText('Admin token or API key')).not.toBeVisible();
  });

  test('reads why an address and a password are refused, at the password alone', async () => {
    const { reader } = showSignIn({ password: true, answer: refusal(401, 'The address or the password is wrong.') });
    await reader.type(await screen.findByLabelText('E-mail address'), 'ada@example.com');
    await reader.type(screen.getByLabelText('Password'), 'wrong{Enter}');
    expect(await screen.findAllByText('The address or the password is wrong.')).toHaveLength(1);
    expect(screen.getByLabelText('Password')).toBeInvalid();
  });

  test('chooses a password by the link of an invitation, and is signed in', async () => {
    const { reader, sent, signedIn } = showSignIn({ invitation: 'the-token', answer: json(adminSession) });
    expect(screen.getByRole('heading', { name: 'Choose a password' })).toBeVisible();
    expect(screen.queryByText('Other ways')).toBeNull();
    await reader.type(screen.getByLabelText('Password'), 'correct horse battery{Enter}');
    await expect.poll(() => signedIn).toEqual([adminSession]);
    const body = { token: 'the-token', password: 'correct horse battery' };
    expect(changesIn(sent)).toEqual([{ call: 'POST /invitation', body }]);
  });

  test('reads that a link was used', async () => {
    const { reader } = showSignIn({ invitation: 'the-token', answer: refusal(404, 'This link was used.') });
    await reader.type(screen.getByLabelText('Password'), 'correct horse battery{Enter}');
    expect(await screen.findByText('This link was used.')).toBeVisible();
  });
});
