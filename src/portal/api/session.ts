import { z } from 'zod';
import { sessionRoles } from '../../books/core/administration.ts';
import { accessRights, workspaceRoles } from '../../books/core/rights.ts';
import { keyId, moment, workspaceId } from './values.ts';

/** The kind of a caller. `admin`: all rights. `member`: by its role in each workspace. `key`: an API key, which sees itself. `service-account`: by its scopes. */
export const role = z
  .enum([...sessionRoles, 'service-account'])
  .meta({ id: 'Role', description: 'The caller’s role.' });
export type Role = z.infer<typeof role>;

/** `GET /sign-in`: the ways to sign in. Needs no session. */
export const signInWays = z
  .object({
    token: z.literal(true).meta({ description: 'The admin token signs in.' }),
    key: z.literal(true).meta({ description: 'An API key signs in.' }),
    password: z.boolean().meta({ description: 'Whether local users sign in, with an address and a password.' }),
    oidc: z
      .object({
        name: z.string().meta({ description: 'Name of the provider.', example: 'Example accounts' }),
        url: z.string().meta({ description: 'Where the browser goes to sign in.', example: '/api/v1/oidc/sign-in' }),
      })
      .nullable()
      .meta({ description: 'OpenID Connect; null where it is not set up.' }),
  })
  .meta({ id: 'SignInWays', description: 'The ways to sign in.' });
export type SignInWaysObject = z.infer<typeof signInWays>;

/** `POST /session`: the admin token, an API key, or the address and the password of a local user. */
export const signIn = z
  .union(
    [
      z.strictObject({ token: z.string().min(1).max(500).meta({ description: 'The admin token.' }) }),
      z.strictObject({ key: z.string().min(1).max(500).meta({ description: 'An API key, `sk-weir-…`.' }) }),
      z.strictObject({
        address: z.string().min(1).max(300).meta({ description: 'E-mail address of a local user.' }),
        password: z.string().min(1).max(1_000),
      }),
    ],
    'expected either token or key, a text of at most 500 characters, or address and password',
  )
  .meta({ id: 'SignIn', description: 'The credential to sign in with.' });
export type SignInObject = z.infer<typeof signIn>;

/** A workspace of the caller, with what the caller may do in it. */
const ownWorkspace = z
  .object({
    id: workspaceId,
    name: z.string(),
    role: z
      .enum([...workspaceRoles, 'key'])
      .nullable()
      .meta({ description: 'Role in the workspace; null for a service account.', example: 'owner' }),
    may: z.array(z.enum(accessRights)).meta({ description: 'The caller’s rights in it.', example: ['keys:read'] }),
  })
  .meta({ id: 'OwnWorkspace' });
export type OwnWorkspaceObject = z.infer<typeof ownWorkspace>;

/** `POST /session` and `GET /session`: the current session. */
export const session = z
  .object({
    role,
    name: z.string().meta({ description: 'Name of the caller, for the pages and the audit trail.', example: 'admin' }),
    workspaces: z
      .array(ownWorkspace)
      .meta({ description: 'Workspaces of a member or a key. Empty for an admin, who may see all.' }),
    key_id: keyId.nullable().meta({ description: 'The key that signed in; null for people and the admin token.' }),
    csrf_token: z
      .string()
      .nullable()
      .meta({ description: 'Value of the header `x-csrf-token` of every change; null without a cookie.' }),
    expires_at: moment.nullable().meta({ description: 'When the session ends; null without a cookie.' }),
    identities: z.boolean().meta({ description: 'Whether tokens of identities are accepted (`WEIR_IDENTITIES`).' }),
    gateway_url: z
      .string()
      .nullable()
      .meta({ description: 'Where clients call the models (`WEIR_PUBLIC_URL`).', example: 'http://127.0.0.1:8080/v1' }),
  })
  .meta({ id: 'Session', description: 'The current session.' });
export type SessionObject = z.infer<typeof session>;

/** `DELETE /session` of a session that began with an identity provider. */
export const signedOut = z
  .object({
    log_out_url: z.string().meta({ description: 'Where the browser goes to end the session with the provider, too.' }),
  })
  .meta({ id: 'SignedOut', description: 'The portal session has ended; the provider’s session has not.' });
export type SignedOutObject = z.infer<typeof signedOut>;
