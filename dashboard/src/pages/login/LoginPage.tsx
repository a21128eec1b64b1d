import { useState } from "preact/hooks";
import { problemOf } from "../../api/client";
import { Code } from "../../components/Copy";
import { TextField } from "../../components/TextField";
import { login } from "../../state/session";

/** Asks for a token; the server answers with a session cookie. */
export function LoginPage() {
  const [token, setToken] = useState("");
  const [error, setError] = useState<string | null>(null);
  const submit = async () => {
    try {
      await login(token.trim());
    } catch (failure) {
      const problem = problemOf(failure);
      setError(problem.detail || problem.title);
    }
  };
  return (
    <main class="login">
      <form class="card" onSubmit={(event) => { event.preventDefault(); void submit(); }}>
        <h1><img src="./icon.svg" alt="" width={24} height={24} /> mainstay</h1>
        <TextField label="Token" type="password" value={token} onChange={setToken} error={error} hint="It is exchanged for a session cookie and not kept in the browser." />
        <button type="submit" class="primary" disabled={!token.trim()}>Log in</button>
        <details>
          <summary>I have no token</summary>
          <p>Somebody with access to the store makes one:</p>
          <Code text="mainstay token create ada --role operator" />
        </details>
      </form>
    </main>
  );
}
