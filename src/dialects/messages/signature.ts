import type { AnswerIdentity } from '../../core/dialect.ts';

/**
 * What stands where another vendor proves that a trace is its own. Clients want one and send it back; open models need no
 * proof, so any is accepted and this one proves nothing: it is base64 of the answer's id and the block's place in it.
 */
export const signatureOf = ({ id }: AnswerIdentity, block: number): string => btoa(`weir:${id}:${block}`);
