import { type FormEvent, useEffect, useState } from 'react';
import type { SessionObject } from '../../../src/portal/api/session.ts';
import { type FailedSignIn, signIn, useSignInWays } from '../data/session.ts';
import { Button } from '../parts/button.tsx';
import { TextField, textOf } from '../parts/fields.tsx';
import { Notice } from '../parts/states.tsx';
import icon from './icon.svg';

/** An API key begins with this prefix. Other texts are treated as the admin token. */
const keyPrefix = 'sk-';

interface SignInProps {
  /** Why the token in the address was not accepted, or why the sign-in with the identity provider failed. */
  readonly failed: FailedSignIn | undefined;
  readonly onSignedIn: (session: SessionObject) => void;
}

export function SignInPage({ failed, onSignedIn }: SignInProps) {
  const ways = useSignInWays();
  const [state, setState] = useState<'ready' | 'under-way' | Error>(failed?.with === 'token' ? failed.error : 'ready');
  useEffect(() => {
    document.title = 'Sign in · Weir';
  }, []);
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const given = textOf(new FormData(event.currentTarget), 'credential');
    setState('under-way');
    try {
      onSignedIn(await signIn(given.startsWith(keyPrefix) ? { key: given } : { token: given }));
    } catch (error) {
      setState(error instanceof Error ? error : new Error(String(error)));
    }
  };
  const oidc = ways.data?.oidc ?? null;
  const form = (
    <form className="stack" onSubmit={(event) => void submit(event)}>
      <TextField
        label="Admin token or API key"
        name="credential"
        type="password"
        autoComplete="current-password"
        required
        error={state instanceof Error ? state.message : undefined}
        hint="An API key shows its requests, its budget and the models that it can call."
      />
      <Button type="submit" kind={oidc === null ? 'primary' : 'quiet'} isDisabled={state === 'under-way'}>
        Sign in
      </Button>
    </form>
  );
  return (
    <div className="sign-in">
      <main className="stack">
        <span className="brand" style={{ padding: 0 }}>
          <img src={icon} alt="" width={26} height={26} />
          Weir
        </span>
        <section className="card stack">
          <h1>Sign in</h1>
          {failed?.with === 'provider' && <Notice tone="bad">{failed.error.message}</Notice>}
          {oidc !== null && (
            <a className="button" data-kind="primary" href={oidc.url}>
              Sign in with {oidc.name}
            </a>
          )}
          {oidc === null ? (
            form
          ) : (
            // An attempt and its error stay visible.
            <details open={state !== 'ready'}>
              <summary>Other ways</summary>
              {form}
            </details>
          )}
        </section>
      </main>
    </div>
  );
}
