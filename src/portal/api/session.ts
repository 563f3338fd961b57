import { z } from 'zod';
import { keyId, moment, workspaceId } from './values.ts';

/**
 * What somebody may do. `admin`: everything. `member`: what belongs to their workspaces. `key`: see the settings and the usage of
 * one API key.
 */
export const role = z.enum(['admin', 'member', 'key']).meta({ id: 'Role', description: 'What somebody may do.' });
export type Role = z.infer<typeof role>;

/** `GET /sign-in`: how to sign in here. Needs no session. */
export const signInWays = z
  .object({
    token: z.literal(true).meta({ description: 'The admin token signs in.' }),
    key: z.literal(true).meta({ description: 'An API key signs in.' }),
    oidc: z
      .object({
        name: z.string().meta({ description: 'What the provider is called.', example: 'Example accounts' }),
        url: z.string().meta({ description: 'Where the browser goes to sign in.', example: '/api/v1/oidc/sign-in' }),
      })
      .nullable()
      .meta({ description: 'OpenID Connect; null where it is not set up.' }),
  })
  .meta({ id: 'SignInWays', description: 'The ways to sign in.' });
export type SignInWays = z.infer<typeof signInWays>;

/** `POST /session`: either the admin token or an API key. */
export const signIn = z
  .union(
    [
      z.strictObject({ token: z.string().min(1).max(500).meta({ description: 'The admin token.' }) }),
      z.strictObject({ key: z.string().min(1).max(500).meta({ description: 'An API key, `sk-weir-…`.' }) }),
    ],
    'expected either token or key, a text of at most 500 characters',
  )
  .meta({ id: 'SignIn', description: 'What somebody signs in with.' });
export type SignIn = z.infer<typeof signIn>;

/** A workspace by its id and its name. */
export const workspaceName = z.object({ id: workspaceId, name: z.string() }).meta({ id: 'WorkspaceName' });

/** `POST /session` and `GET /session`: who is signed in. */
export const session = z
  .object({
    role,
    name: z.string().meta({ description: 'Who it is, for the page and for the audit trail.', example: 'admin' }),
    workspaces: z
      .array(workspaceName)
      .meta({ description: 'Those of a member, and that of a key; empty for an admin, who may see all.' }),
    key_id: keyId.nullable().meta({ description: 'The key that signed in; null for people and the admin token.' }),
    csrf_token: z
      .string()
      .nullable()
      .meta({ description: 'Goes into the header `x-csrf-token` of every change; null without a cookie.' }),
    expires_at: moment.nullable().meta({ description: 'When the session ends; null without a cookie.' }),
    gateway_url: z
      .string()
      .nullable()
      .meta({ description: 'Where clients call the models (`WEIR_PUBLIC_URL`).', example: 'http://127.0.0.1:8080/v1' }),
  })
  .meta({ id: 'Session', description: 'Who is signed in.' });
export type Session = z.infer<typeof session>;

/** `DELETE /session` of somebody whom an identity provider has signed in. */
export const signedOut = z
  .object({
    log_out_url: z.string().meta({ description: 'Where the browser goes to end the session with the provider, too.' }),
  })
  .meta({ id: 'SignedOut', description: 'The session of the portal has ended; that of the provider has not.' });
export type SignedOut = z.infer<typeof signedOut>;
