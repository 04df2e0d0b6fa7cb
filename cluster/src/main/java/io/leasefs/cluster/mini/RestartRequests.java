package io.leasefs.cluster.mini;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;
import java.util.TreeMap;

/**
 * How one process asks the one that runs a mini-cluster to start a server again: a file {@code
 * restart/NAME} in the cluster's folder, which becomes {@code restart/NAME.done} with why it
 * failed, or nothing. Each side one thread.
 */
public final class RestartRequests {
  private static final String DONE = ".done";

  private final Path folder;

  public RestartRequests(Path clusterFolder) {
    this.folder = clusterFolder.resolve("restart");
  }

  /** Asks for a server, by a name that is a file's name. */
  public void ask(String server) throws IOException {
    Files.createDirectories(folder);
    Files.deleteIfExists(folder.resolve(server + DONE));
    Files.writeString(folder.resolve(server), "");
  }

  /** Takes a request back; false where it has been answered or is being carried out. */
  public boolean cancel(String server) throws IOException {
    return Files.deleteIfExists(folder.resolve(server));
  }

  /** Present once it is answered: empty where the server runs, else why not. */
  public Optional<String> answer(String server) throws IOException {
    Path done = folder.resolve(server + DONE);
    try {
      String answer = Files.readString(done);
      Files.delete(done);
      return Optional.of(answer);
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  /** Takes the next request. */
  public Optional<String> take() throws IOException {
    TreeMap<String, Path> requests = new TreeMap<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
      for (Path file : files) {
        String name = file.getFileName().toString();
        if (!name.contains(".")) {
          requests.put(name, file);
        }
      }
    } catch (NoSuchFileException e) {
      return Optional.empty(); // nobody has ever asked
    }
    for (String server : requests.keySet()) {
      if (cancel(server)) {
        return Optional.of(server);
      }
    }
    return Optional.empty();
  }

  /** Answers the request that was taken. */
  public void answer(String server, String why) throws IOException {
    Path fresh = folder.resolve(server + DONE + ".new");
    Files.writeString(fresh, why);
    Files.move(fresh, folder.resolve(server + DONE), StandardCopyOption.ATOMIC_MOVE);
  }
}
