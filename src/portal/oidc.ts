/** Sign-in through an identity provider. The portal offers it where it is set up; the routes that speak to the provider are its own. */
export interface OidcSignIn {
  /** What the provider is called on the sign-in page. */
  readonly name: string;
  /** Where the browser goes to sign in. */
  readonly url: string;
}
