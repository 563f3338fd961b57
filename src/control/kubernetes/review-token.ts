import type { KubeClient } from './client.ts';

/**
 * Asks the API server whether a token is good for an audience, and whether the ServiceAccount and the pod that it is bound to still
 * exist. https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/
 */
export async function reviewToken(
  { authentication }: Pick<KubeClient, 'authentication'>,
  token: string,
  audience: string,
): Promise<boolean> {
  const body = { spec: { token, audiences: [audience] } };
  const { status } = await authentication.createTokenReview({ body });
  return status?.authenticated === true && status.audiences?.includes(audience) === true;
}
