import { type FormEvent, useEffect, useState } from 'react';
import type { SessionObject } from '../../../src/portal/api/session.ts';
import { acceptInvitation, type FailedSignIn, signIn, useSignInWays } from '../data/session.ts';
import { Button } from '../parts/button.tsx';
import { TextField, textOf, valueOf } from '../parts/fields.tsx';
import { Notice } from '../parts/states.tsx';
import icon from './icon.svg';

/** An API key begins with this prefix. Other texts are treated as the admin token. */
const keyPrefix = 'sk-';

interface SignInProps {
  /** Why the token in the address was not accepted, or why the sign-in with the identity provider failed. */
  readonly failed: FailedSignIn | undefined;
  /** Token of an invitation link, with which the person sets a password. */
  readonly invitation: string | undefined;
  readonly onSignedIn: (session: SessionObject) => void;
}

export function SignInPage({ failed, invitation, onSignedIn }: SignInProps) {
  useEffect(() => {
    document.title = 'Sign in · Weir';
  }, []);
  return (
    <div className="sign-in">
      <main className="stack">
        <span className="brand" style={{ padding: 0 }}>
          <img src={icon} alt="" width={26} height={26} />
          Weir
        </span>
        <section className="card stack">
          <h1>{invitation === undefined ? 'Sign in' : 'Choose a password'}</h1>
          {invitation === undefined ? (
            <Ways failed={failed} onSignedIn={onSignedIn} />
          ) : (
            <SecretForm
              label="Password"
              autoComplete="new-password"
              hint="At least 12 characters. The link works once."
              send={(password) => acceptInvitation(invitation, password)}
              onSignedIn={onSignedIn}
            />
          )}
        </section>
      </main>
    </div>
  );
}

/** The provider or the password first, and the token behind other ways. Where it is the only one, it is shown at once. */
function Ways({ failed, onSignedIn }: Pick<SignInProps, 'failed' | 'onSignedIn'>) {
  const { oidc = null, password = false } = useSignInWays().data ?? {};
  const isOnly = oidc === null && !password;
  const token = (
    <SecretForm
      label="Admin token or API key"
      autoComplete="current-password"
      hint="An API key shows its requests, its budget and the models that it can call."
      isQuiet={!isOnly}
      failed={failed?.with === 'token' ? failed.error : undefined}
      send={(given) => signIn(given.startsWith(keyPrefix) ? { key: given.trim() } : { token: given.trim() })}
      onSignedIn={onSignedIn}
    />
  );
  return (
    <>
      {failed?.with === 'provider' && <Notice tone="bad">{failed.error.message}</Notice>}
      {oidc !== null && (
        <a className="button" data-kind="primary" href={oidc.url}>
          Sign in with {oidc.name}
        </a>
      )}
      {password && (
        <SecretForm
          hasAddress
          label="Password"
          autoComplete="current-password"
          send={(given, address) => signIn({ address, password: given })}
          onSignedIn={onSignedIn}
        />
      )}
      {isOnly ? (
        token
      ) : (
        <details open={failed?.with === 'token'}>
          <summary>Other ways</summary>
          {token}
        </details>
      )}
    </>
  );
}

interface SecretFormProps extends Pick<SignInProps, 'onSignedIn'> {
  readonly label: string;
  readonly autoComplete: string;
  readonly hint?: string;
  readonly hasAddress?: boolean;
  readonly isQuiet?: boolean;
  readonly failed?: Error | undefined;
  readonly send: (secret: string, address: string) => Promise<SessionObject>;
}

/** Asks for a secret, and signs in with it. */
function SecretForm({ label, autoComplete, hint, hasAddress, isQuiet, failed, send, onSignedIn }: SecretFormProps) {
  const [state, setState] = useState<'ready' | 'under-way' | Error>(failed ?? 'ready');
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setState('under-way');
    try {
      onSignedIn(await send(valueOf(form, 'secret'), textOf(form, 'address')));
    } catch (error) {
      setState(error instanceof Error ? error : new Error(String(error)));
    }
  };
  return (
    <form className="stack" onSubmit={(event) => void submit(event)}>
      {hasAddress === true && (
        <TextField label="E-mail address" name="address" type="email" autoComplete="username" required />
      )}
      <TextField
        label={label}
        name="secret"
        type="password"
        autoComplete={autoComplete}
        required
        error={state instanceof Error ? state.message : undefined}
        hint={hint}
      />
      <Button type="submit" kind={isQuiet === true ? 'quiet' : 'primary'} isDisabled={state === 'under-way'}>
        Sign in
      </Button>
    </form>
  );
}
