# LeaseFS: master, chunkserver and command in one image.
#
#   mvn -DskipTests package && docker build -t leasefs .
#
# BASE_IMAGE: anything with bash and a Java 25 runtime in JAVA_HOME.
ARG BASE_IMAGE=eclipse-temurin:25-jre
FROM ${BASE_IMAGE}

RUN useradd --uid 10001 --user-group --create-home --shell /usr/sbin/nologin leasefs \
  && mkdir /data && chown leasefs:leasefs /data

COPY cluster/target/dist/ /opt/leasefs/
ENV PATH=/opt/leasefs/bin:$PATH

# Makes the start-up caches: the file system is read-only later.
RUN leasefs version

USER 10001:10001
VOLUME /data
STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/leasefs/bin/leasefs"]
CMD ["help"]
