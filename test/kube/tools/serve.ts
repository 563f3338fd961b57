// Runs a Kubernetes API server with the generated CRDs until Ctrl-C, to try things by hand; prints the kubeconfig's path.
import { once } from 'node:events';
import { startKubeApiServer } from '../support/api-server.ts';
import { installCrds } from '../support/cluster.ts';

const server = await startKubeApiServer();
try {
  await installCrds(server);
  console.log(`ready: ${server.url}\nexport KUBECONFIG=${server.kubeconfig}`);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
} finally {
  await server.close();
}
