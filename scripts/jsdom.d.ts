/** The part of jsdom that `line-pictures.ts` uses. Its own types need those of a browser, which would change the types of Node. */
declare module 'jsdom' {
  export class JSDOM {
    readonly window: { readonly document: object };
    constructor(html: string);
  }
}
