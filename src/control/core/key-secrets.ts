import type { AccountObject } from '../../books/core/declared-account.ts';

/** The Secret of an ApiKey, as far as it is known. */
export interface KeySecret {
  /** Changes with every change of the Secret. */
  readonly resourceVersion: string;
  /** Whether Weir made it for this very object, so that Weir may give it another key. */
  readonly isOurs: boolean;
  /** The entry `key`. Undefined: there is none, or it is no text. A secret: never to be logged. */
  readonly text: string | undefined;
}

/** A Secret cannot be written: it is immutable, for example, or a quota is used up. The message has no key in it. */
export class SecretRefused extends Error {}

/** The Secrets of ApiKeys: at the API server, or of a gateway with a manifest folder. Reads and writes single Secrets by name. Writes reject with `SecretRefused`. */
export interface KeySecrets {
  /** Undefined: there is no such Secret. */
  readonly read: (object: AccountObject, name: string) => Promise<KeySecret | undefined>;
  /** Makes the Secret, owned by the object. False: there is one by now. */
  readonly create: (object: AccountObject, name: string, text: string) => Promise<boolean>;
  /** Gives the Secret another text. False: it has changed since it was read, or is gone. */
  readonly replace: (
    object: AccountObject,
    secret: { readonly name: string; readonly resourceVersion: string },
    text: string,
  ) => Promise<boolean>;
}
